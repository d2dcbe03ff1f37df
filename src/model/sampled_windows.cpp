#include "model/sampled_windows.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>

#include "counters/perf/time_profile.h"
#include "model/code_of_looks.h"
#include "model/copy_windows.h"
#include "model/entry_wishes.h"
#include "model/kinds_of_moments.h"
#include "model/moments_in_time.h"
#include "model/planned_moments.h"
#include "model/task_shares.h"
#include "process/cpus_to_use.h"
#include "process/held_command.h"
#include "trace/copy_calls.h"

namespace tmaprobe::model {
namespace {

// Small copies may wait in greater number: each holds what its process has written since.
constexpr std::size_t most_waiting_copies = 8, most_small_waiting_copies = 24;
constexpr std::uint64_t most_waiting_bytes = 256u << 20;
// While what is sampled runs, moments are what is scarce: models of them have time afterwards.
constexpr std::uint64_t only_samples_ns = 500'000'000, late_ns = 10'000'000;
/// Moments are worth more than what lies close together, and a copy is followed from one to the next where it goes on
/// by itself; more than these tell little more.
constexpr std::size_t most_copies = 16;
constexpr double most_moments = 64, shortest_apart_ns = 2e6;
constexpr double share_to_run = 0.5;  ///< of the time that there is: at most that is for copies to run by themselves
constexpr std::size_t most_further = 2, most_further_of_one = 6;  ///< moments of a copy, PlannedMoments::of()
constexpr double usual_moment_ns = 80e6;                          ///< that one takes to be modelled, until it is known
// While what is sampled runs, how long it will run is not known.
constexpr double moments_meanwhile = 4, apart_meanwhile_ns = 50e6;

/// A copy that is to be modelled.
struct Waiting {
    trace::Sample sample;
    double until_ns = 0;          ///< of all processor time, as Sample::at_ns: until the next
    EntryWishes::Begins begun{};  ///< meanwhile, of regions that are marked
    LookedAtTime looked_at{};     ///< of its process, from then on until its next copy

    double span_ns() const { return until_ns - sample.at_ns; }
};

class WindowSampling {
  public:
    WindowSampling(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder, const ModelledCpu& cpu,
                   const ModelOptions& options, const process::HelperOrders& orders)
        : request_(request),
          orders_(orders),
          attribute_(options.attribute),
          windows_(core, cpu, decoder, options, request.regions, found_, [this] { take_if_due(); }),
          entry_wishes_(request.regions, windows_, found_),
          sampler_(request.processes, request.limits, request.reaper) {}

    SampledWindows run(const std::function<void()>& ready) {
        if (request_.log) windows_.log_to(*request_.log);
        const std::uint64_t start = process::now_ns();
        models_from_ns_ = start + only_samples_ns;
        if (request_.held_command)
            take_first(ready);
        else
            ready();
        while (!orders_.over()) {
            const std::uint64_t now = process::now_ns();
            // The last one is followed until the next, when there is one.
            if (now >= sampler_.next_ns())
                take();
            else if (copies_.size() > 1 && now >= models_from_ns_)
                model(take_out(0));
            else
                orders_.over(std::min<std::int64_t>(
                    patience_ns(), static_cast<std::int64_t>(sampler_.next_ns() - std::min(now, sampler_.next_ns()))));
        }
        come_forward();
        note_begins();
        const std::uint64_t end = process::now_ns();
        whole_ns_ = sampler_.sampled_ns();
        // A command that was over before anybody saw it run is followed from its start, however long it was.
        if (copies_.size() == 1 && is_first(copies_.back()))
            whole_ns_ = std::max(whole_ns_, static_cast<double>(end - start));
        if (!copies_.empty()) copies_.back().until_ns = std::max(copies_.back().until_ns, whole_ns_);
        const double budget_ns = std::max(request_.shortest_budget_ns, static_cast<double>(end - start));
        over_ns_ = end + static_cast<std::uint64_t>(budget_ns);
        keep_the_longest(most_copies);
        note_looked_at_times();
        // One waits for its CPU while another has it: none is idle until the next is traced.
        if (const unsigned cpus = process::cpus_to_use(); cpus > 1 && !request_.log) windows_.simulate_beside(cpus);
        while (!copies_.empty() && left_ns() > 0) {
            // Each has a moment at least.
            keep_the_longest(static_cast<std::size_t>(std::max(1.0, left_ns() / moment_ns())));
            // There may be no time for all: those that are left out are not to be the last ones of the run.
            model(take_out(is_first(copies_.front()) ? 0 : random_() % copies_.size()));
        }
        return finish();
    }

  private:
    std::int64_t patience_ns() {
        constexpr std::int64_t short_ns = 1'000'000, long_ns = 1'000'000'000;
        return sampler_.settle() ? short_ns : long_ns;
    }

    /// Of the time after the end.
    double left_ns() const { return static_cast<double>(over_ns_) - static_cast<double>(process::now_ns()); }

    bool is_first(const Waiting& waiting) const { return waiting.sample.snapshot.copy() == first_copy_; }

    void take() {
        // Whoever waits so long for a CPU had better not spend on models what it gets.
        if (const std::uint64_t now = process::now_ns(); now > sampler_.next_ns() + late_ns)
            models_from_ns_ = now + only_samples_ns;
        auto sample = sampler_.take();
        for (const process::ThreadUse& thread : sampler_.threads()) profile_.add(thread.process, thread.thread);
        profile_.read();
        sampler_.note_looks(profile_.cost_ns());
        if (attribute_) code_of_looks_.look(profile_);
        if (!sample) return;
        // Where there is no time to model them all, those that are spread over the run.
        if (no_more_may_wait()) drop_one(random_() % copies_.size());
        const double at_ns = sample->at_ns;
        if (!copies_.empty()) copies_.back().until_ns = at_ns;
        note_begins();
        const auto& looks = profile_.in_order(sample->snapshot.process);
        const double looked_at = looks.empty() ? 0 : static_cast<double>(looks.back().so_far);
        if (!copies_.empty() && copies_.back().sample.snapshot.process == sample->snapshot.process)
            copies_.back().looked_at.end = looked_at;
        copies_.push_back({std::move(*sample), at_ns, {}, {looked_at, looked_at}});
    }

    /// Until when the copies that are left go on for their processes.
    void note_looked_at_times() {
        profile_.read();
        std::map<pid_t, double> until;
        for (auto waiting = copies_.rbegin(); waiting != copies_.rend(); ++waiting) {
            const pid_t process = waiting->sample.snapshot.process;
            const auto& looks = profile_.in_order(process);
            const double all = looks.empty() ? 0 : static_cast<double>(looks.back().so_far);
            waiting->looked_at.end = until.contains(process) ? until[process] : all;
            until[process] = waiting->looked_at.begin;
        }
    }

    /// Of regions, since the last copy.
    void note_begins() {
        if (!copies_.empty()) EntryWishes::add(copies_.back().begun, entry_wishes_.new_begins());
    }

    bool no_more_may_wait() const {
        std::uint64_t bytes = 0;
        for (const auto& waiting : copies_) bytes += waiting.sample.snapshot.resident_bytes;
        return copies_.size() >= (bytes > most_waiting_bytes ? most_waiting_copies : most_small_waiting_copies);
    }

    double moment_ns() const {
        // The first of all warms up for longer, where that takes long at all.
        constexpr double longer_ns = WarmUpLimits{}.budget_ns - warm_up_again().budget_ns;
        return modelled_ > 0 ? std::max(modelling_ns_ - longer_ns, modelling_ns_ / 2) / modelled_ : usual_moment_ns;
    }

    /// Moments are to stand for about as much time each: one before that is followed does for those that are close.
    void keep_the_longest(std::size_t most) {
        const auto shorter = [this](const Waiting& one, const Waiting& other) {
            return !is_first(one) && (is_first(other) || one.span_ns() < other.span_ns());
        };
        while (copies_.size() > most)
            drop_one(
                static_cast<std::size_t>(std::min_element(copies_.begin(), copies_.end(), shorter) - copies_.begin()));
    }

    /// The one before goes on for it, too, if it is still there.
    void drop_one(std::size_t number) {
        Waiting dropped = take_out(number);
        Waiting& heir = copies_[number == 0 ? 0 : number - 1];
        if (heir.until_ns == dropped.sample.at_ns) {
            heir.until_ns = dropped.until_ns;
            if (heir.sample.snapshot.process == dropped.sample.snapshot.process)
                heir.looked_at.end = dropped.looked_at.end;
        }
        EntryWishes::add(heir.begun, dropped.begun);
        drop(dropped.sample);
    }

    Waiting take_out(std::size_t number) {
        Waiting taken = std::move(copies_[number]);
        copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(number));
        return taken;
    }

    /// What is sampled is over: now somebody waits for us.
    void come_forward() {
        if (in_front_) return;
        in_front_ = true;
        process::step_forward(::getpid());
        if (windows_.copy() > 0) process::step_forward(windows_.copy());
        for (const auto& waiting : copies_) process::step_forward(waiting.sample.snapshot.copy());
    }

    void drop(trace::Sample& sample) {
        const pid_t copy = sample.snapshot.copy();
        sample.snapshot.kill();
        sampler_.copy_is_gone(sample.snapshot, copy);
        ++found_.sampling.ended_early["no_time_left"];
    }

    /// While something long is done, samples that are due.
    void take_if_due() {
        sampler_.settle();
        if (orders_.over()) come_forward();
        if (process::now_ns() >= sampler_.next_ns() && !orders_.over()) take();
        if (!stepped_back_ && !in_front_) rest();
    }

    /// Leaves the CPU to what is sampled, where the kernel does not let us step back for it. Samples go on.
    void rest() {
        const std::uint64_t until = process::now_ns() + gives_way_.rest_ns();
        for (std::uint64_t now = 0; (now = process::now_ns()) < until;) {
            const std::uint64_t next = std::min(until, std::max(now, sampler_.next_ns()));
            if (orders_.over(std::min(patience_ns(), static_cast<std::int64_t>(next - now)))) return;
            if (process::now_ns() >= sampler_.next_ns()) take();
        }
        gives_way_.go_on();
    }

    /// A copy of the command at its first instruction.
    void take_first(const std::function<void()>& ready) {
        const pid_t command = request_.held_command;
        const bool seized = ::ptrace(PTRACE_SEIZE, command, nullptr, PTRACE_O_TRACEEXEC) == 0;
        ready();
        if (!seized) return;
        for (int status = 0; ::waitpid(command, &status, __WALL) == command && WIFSTOPPED(status);) {
            const int event = status >> 16;
            if (event == PTRACE_EVENT_EXEC) {
                auto taken = sampler_.take_after_exec(command);
                if (taken) first_copy_ = taken->snapshot.copy();
                if (taken) copies_.push_back({std::move(*taken), 0});
                return;
            }
            ::ptrace(event == PTRACE_EVENT_STOP ? PTRACE_LISTEN : PTRACE_CONT, command, nullptr,
                     event ? 0 : WSTOPSIG(status));
        }
    }

    /// How far to follow the copy that is next.
    Following while_it_runs(const Waiting& next) {
        // Not before: who only samples is to be on time, and takes little.
        if (!stepped_back_) stepped_back_ = process::step_back(::getpid());
        const double moments = std::clamp(std::round(next.span_ns() / apart_meanwhile_ns), 1.0, moments_meanwhile);
        const double apart_ns = next.sample.share * std::min(next.span_ns() / moments, apart_meanwhile_ns);
        std::vector<double> at_ns;
        for (double moment = 0; moment < moments; ++moment) at_ns.push_back(moment * apart_ns);
        return {std::move(at_ns),
                [this] {
                    take_if_due();
                    return true;
                },
                {}};
    }

    /// Moments are on a grid, as close as can be afforded in this copy and those that are left; or evenly where these
    /// start, if there is no time to run on to the rest.
    Following within_what_is_left(const Waiting& next) {
        double all_ns = next.span_ns(), to_run_ns = next.span_ns() * next.sample.share;
        for (const Waiting& waiting : copies_) {
            all_ns += waiting.span_ns();
            to_run_ns += waiting.span_ns() * waiting.sample.share;
        }
        const double left = std::max(0.0, left_ns());
        const double followed = std::min(1.0, share_to_run * left / std::max(1.0, to_run_ns));
        const double affordable = std::min((left - followed * to_run_ns) / moment_ns(), most_moments);
        const double own_ns = next.span_ns() * next.sample.share;
        std::vector<double> even;
        if (followed < 1) {
            const double moments = std::clamp(std::round(affordable * next.span_ns() / std::max(1.0, all_ns)), 1.0,
                                              1 + std::floor(followed * own_ns / shortest_apart_ns));
            for (double moment = 0; moment < moments; ++moment) even.push_back(followed * moment / moments);
        } else {
            grid_.afford(std::min(affordable * whole_ns_ / std::max(1.0, all_ns), whole_ns_ / shortest_apart_ns));
            even = grid_.of(whole_ns_, next.sample.at_ns, next.until_ns);
        }
        const auto& looks = profile_.in_order(next.sample.snapshot.process);
        std::vector<double> at_ns =
            planned_.of(looks, next.looked_at, even, followed, copies_.empty() ? most_further_of_one : most_further);
        for (double& at : at_ns) at *= own_ns;
        return {std::move(at_ns), [this] { return left_ns() > 0; }, {}};
    }

    /// For windows of regions' entries in one copy.
    double left_for_entries_ns() const {
        constexpr double meanwhile_ns = 100e6, share = 0.4;
        if (!over_ns_) return meanwhile_ns;
        return share * std::max(0.0, left_ns()) / static_cast<double>(copies_.size() + 1);
    }

    void model(Waiting next) {
        Following following = over_ns_ ? within_what_is_left(next) : while_it_runs(next);
        trace::Sample& sample = next.sample;
        const auto start = process::now_ns();
        const double not_modelling_ns = windows_.native_ns() + windows_.entries_ns();
        const pid_t copy = sample.snapshot.copy();
        if (request_.regions.any()) {
            const double run_ns = next.span_ns() * sample.share, share_ns = left_for_entries_ns();
            following.entries = [this, run_ns, share_ns, begun = next.begun, goes_on = following.goes_on] {
                return entry_wishes_.of(begun, run_ns, share_ns, goes_on);
            };
        }
        auto moments = windows_.model(sample, copy == first_copy_, following);
        sampler_.copy_is_gone(sample.snapshot, copy);
        const auto took_ns = static_cast<double>(process::now_ns() - start);
        found_.tracing_ns += took_ns;
        take_if_due();
        if (!moments) {
            found_.error = moments.error().what;
            ++found_.sampling.ended_early[std::string(name_of(trace::EndedBy::error))];
            return;
        }
        modelling_ns_ += took_ns - (windows_.native_ns() + windows_.entries_ns() - not_modelling_ns);
        modelled_ += static_cast<double>(std::max<std::size_t>(1, moments->size()));
        for (WindowFacts& facts : *moments) {
            programs_[facts.process] = sample.snapshot.program;
            const double done = next.span_ns() > 0 ? (facts.at_ns - sample.at_ns) / next.span_ns() : 0;
            facts.at_look = next.looked_at.begin + done * (next.looked_at.end - next.looked_at.begin);
            found_.facts.push_back(std::move(facts));
        }
    }

    void add_samples() {
        if (!attribute_) return;
        for (const WindowFacts& facts : found_.facts)
            code_of_looks_.add(facts.process, process::code_of(facts.mappings));
        found_.samples = code_of_looks_.samples(profile_);
    }

    SampledWindows finish() {
        auto& sampling = found_.sampling;
        profile_.read();
        windows_.complete(found_.facts);
        weigh_by_nearness(found_.facts, whole_ns_);
        add_samples();
        const LookedAt looked_at = weigh_by_looks(profile_.looks(), found_.facts, [this](pid_t process) -> const auto& {
            return profile_.in_order(process);
        });
        vary_as_others(found_.facts);
        // Of unequal ones, as many as say as much.
        sampling.looks = std::floor(looked_at.looks / profile_.weight_of_a_look());
        sampling.looks_met = std::floor(sampling.looks * (1 - looked_at.unmet));
        if (sampling.looks > 0)
            sampling.looks_by = profile_.by() == counters::perf::LooksBy::cycles ? "cycles" : "task-clock";
        for (WindowFacts& facts : found_.facts)
            sampling.windows.push_back({programs_[facts.process], facts.process, facts.base["instructions"],
                                        cycles_of(facts.base), facts.native_ns});
        for (auto& left : copies_) drop(left.sample);
        const WindowSimulator& simulator = windows_.simulator();
        for (const auto& [why, times] : sampler_.missed()) sampling.missed[std::string(trace::name_of(why))] += times;
        for (const auto& [what, times] : simulator.known_wrong()) found_.known_wrong[what] = times;
        const auto& cost = sampler_.cost();
        sampling.pauses = {cost.copies, static_cast<double>(cost.longest_pause_ns),
                           static_cast<double>(cost.total_pause_ns), cost.copied_pages};
        sampling.processor_ns = sampler_.processor_ns();
        sampling.system_ns = sampler_.system_ns();
        sampling.by_task = task_shares(sampling.windows);
        found_.why_missed = sampler_.why_missed();
        found_.simulated += simulator.simulated_instructions();
        found_.simulating_ns += simulator.simulating_ns();
        found_.pages_partly_known = simulator.pages().partly_known();
        found_.tasks = sampler_.threads_seen();
        found_.region_paths = windows_.region_paths().all();
        for (const auto& [region, seen] : windows_.seen_entries()) found_.seen_entries.push_back(seen);
        return std::move(found_);
    }

    const SamplingRequest& request_;
    const process::HelperOrders& orders_;
    const bool attribute_;
    SampledWindows found_;
    CopyWindows windows_;
    EntryWishes entry_wishes_;
    trace::Sampler sampler_;
    counters::perf::TimeProfile profile_;
    MomentGrid grid_;
    PlannedMoments planned_;
    CodeOfLooks code_of_looks_;
    std::map<pid_t, std::string> programs_;  ///< of processes that have windows
    std::deque<Waiting> copies_;
    std::mt19937_64 random_{1};  // the same choice each time, as far as the machine allows
    pid_t first_copy_ = -1;
    std::uint64_t models_from_ns_ = 0;        ///< before, only samples are taken
    std::uint64_t over_ns_ = 0;               ///< after, no time is left
    double whole_ns_ = 0;                     ///< processor time of all that is sampled, at its end
    double modelling_ns_ = 0, modelled_ = 0;  ///< moments so far
    bool in_front_ = false, stepped_back_ = false;
    process::GivesWay gives_way_;
};

}  // namespace

SampledWindows sample_windows(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder,
                              const ModelledCpu& cpu, const ModelOptions& options, const process::HelperOrders& orders,
                              const std::function<void()>& ready) {
    return WindowSampling(request, core, decoder, cpu, options, orders).run(ready);
}

}  // namespace tmaprobe::model
