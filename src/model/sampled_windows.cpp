#include "model/sampled_windows.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string_view>

#include "model/spinning.h"
#include "model/sum_of_windows.h"
#include "model/task_shares.h"
#include "model/window_likeness.h"
#include "process/held_command.h"
#include "trace/copy_calls.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

// Small copies may wait in greater number: each holds what its process has written since.
constexpr std::size_t most_waiting_copies = 8, most_small_waiting_copies = 24;
constexpr std::uint64_t most_waiting_bytes = 256u << 20;
constexpr std::size_t shortest_window = 1000;  ///< instructions
constexpr std::size_t further_windows = 3, windows_apart = 100'000;
// While what is sampled runs, moments are what is scarce: models of them have time afterwards.
constexpr std::uint64_t only_samples_ns = 500'000'000, late_ns = 10'000'000;
constexpr double search_ns = 45e6;  ///< of processor time, for a window like the moment that was sampled

/// Recorded instructions of a copy, by number; not yet seen by the caches.
using Steps = std::vector<trace::Step>;

class WindowSampling {
  public:
    WindowSampling(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder, const ModelledCpu& cpu,
                   const ModelOptions& options, const process::HelperOrders& orders)
        : request_(request),
          decoder_(decoder),
          options_(options),
          orders_(orders),
          simulator_(core, cpu),
          sampler_(request.processes, request.limits, request.reaper) {}

    SampledWindows run(const std::function<void()>& ready) {
        if (auto pages = assumed_pages(options_); pages && *pages) {
            simulator_.set_pages(**pages);
            pages_assumed_ = true;
        }
        if (options_.attribute) simulator_.attribute_slots();
        stepped_back_ = process::step_back(::getpid());
        const std::uint64_t start = process::now_ns();
        models_from_ns_ = start + only_samples_ns;
        if (request_.held_command)
            take_first(ready);
        else
            ready();
        while (!orders_.over()) {
            const std::uint64_t now = process::now_ns();
            if (now >= sampler_.next_ns())
                take();
            else if (!copies_.empty() && now >= models_from_ns_)
                model_next();
            else
                orders_.over(std::min<std::int64_t>(
                    patience_ns(), static_cast<std::int64_t>(sampler_.next_ns() - std::min(now, sampler_.next_ns()))));
        }
        come_forward();
        const std::uint64_t end = process::now_ns();
        const double budget_ns = std::max(request_.shortest_budget_ns, static_cast<double>(end - start));
        while (!copies_.empty() && static_cast<double>(process::now_ns() - end) < budget_ns) {
            // There may be no time for all: those that are left out are not to be the last ones of the run.
            if (copies_.front().snapshot.copy() != first_copy_)
                std::swap(copies_.front(), copies_[random_() % copies_.size()]);
            model_next();
        }
        return finish();
    }

  private:
    std::int64_t patience_ns() {
        constexpr std::int64_t short_ns = 1'000'000, long_ns = 1'000'000'000;
        return sampler_.settle() ? short_ns : long_ns;
    }

    void take() {
        // Whoever waits so long for a CPU had better not spend on models what it gets.
        if (const std::uint64_t now = process::now_ns(); now > sampler_.next_ns() + late_ns)
            models_from_ns_ = now + only_samples_ns;
        auto sample = sampler_.take();
        if (!sample) return;
        // Where there is no time to model them all, those that are spread over the run.
        if (no_more_may_wait()) {
            const auto dropped = copies_.begin() + static_cast<std::ptrdiff_t>(random_() % copies_.size());
            (dropped + 1 == copies_.end() ? *sample : dropped[1]).stands_for_ns += dropped->stands_for_ns;
            drop(*dropped);
            copies_.erase(dropped);
        }
        copies_.push_back(std::move(*sample));
    }

    bool no_more_may_wait() const {
        std::uint64_t bytes = 0;
        for (const auto& waiting : copies_) bytes += waiting.snapshot.resident_bytes;
        return copies_.size() >= (bytes > most_waiting_bytes ? most_waiting_copies : most_small_waiting_copies);
    }

    /// What is sampled is over: now somebody waits for us.
    void come_forward() {
        if (in_front_) return;
        in_front_ = true;
        process::step_forward(::getpid());
        if (traced_copy_ > 0) process::step_forward(traced_copy_);
        for (const auto& waiting : copies_) process::step_forward(waiting.snapshot.copy());
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
                if (taken) copies_.push_back(std::move(*taken));
                return;
            }
            ::ptrace(event == PTRACE_EVENT_STOP ? PTRACE_LISTEN : PTRACE_CONT, command, nullptr,
                     event ? 0 : WSTOPSIG(status));
        }
    }

    void model_next() {
        trace::Sample sample = std::move(copies_.front());
        copies_.pop_front();
        const auto start = process::now_ns();
        const pid_t copy = traced_copy_ = sample.snapshot.copy();
        auto facts = trace_windows(sample);
        traced_copy_ = -1;
        sampler_.copy_is_gone(sample.snapshot, copy);
        found_.tracing_ns += static_cast<double>(process::now_ns() - start);
        take_if_due();
        if (!facts) {
            found_.error = facts.error().what;
            ++found_.sampling.ended_early[std::string(name_of(trace::EndedBy::error))];
            return;
        }
        if (facts->base.empty()) return;
        facts->native_ns = stands_for_ns_;
        facts->process = sample.snapshot.process;
        if (options_.attribute) facts->mappings = std::move(mappings_);
        found_.sampling.windows.push_back({sample.snapshot.program, sample.snapshot.process,
                                           facts->base["instructions"], cycles_of(facts->base), stands_for_ns_});
        found_.facts.push_back(std::move(*facts));
    }

    Result<WindowFacts> simulate(const trace::Trace& window) {
        if (window.steps.size() < shortest_window) return WindowFacts{};
        auto facts = TRY(simulator_.simulate(window));
        // A short life is one of many alike: the caches know it from the last time, or, at the other bound, know no
        // more than what was seen of the process so far.
        if (hardly_warm_) {
            FactVariation cold{record::Variation::caches_not_warmed, std::move(facts.base), std::move(facts.slots)};
            facts = TRY(simulator_.simulate(window));
            facts.variations.push_back(std::move(cold));
        }
        return facts;
    }

    /// A moment is more than one window of it: a few more, a little apart, as long as that is cheap.
    Result<> add_further_windows(trace::Translator& translator, WindowFacts& facts) {
        constexpr double budget_ns = 120e6;
        const double start = own_processor_ns();
        for (std::size_t i = 0; i < further_windows && own_processor_ns() - start < budget_ns; ++i) {
            auto traced = TRY(translator.steps(
                windows_apart, [&](const trace::StaticInstruction& instruction, const trace::Step& step) {
                    simulator_.follow(instruction, step);
                    ++executed_;
                }));
            note(traced);
            found_.warmed += traced.steps;
            trace::Trace window;
            const auto goes_on = [&] { return !traced.ended && traced.ended_early == trace::EndedEarly::none; };
            if (!goes_on()) break;
            traced = TRY(translator.steps(
                options_.window_instructions,
                [&](const trace::StaticInstruction&, const trace::Step& step) { window.steps.push_back(step); }));
            note(traced);
            if (window.steps.size() < shortest_window || !is_like_sampled(window.steps)) break;
            window.instructions = translator.instructions();
            found_.steps += window.steps.size();
            merge(facts, TRY(simulator_.simulate(window)));
            if (!goes_on()) break;
            take_if_due();
        }
        return {};
    }

    /// A life too short for a window is kept, and the next ones of the same process are added to it until together they
    /// are one.
    void join(const trace::Sample& sample, trace::Trace& window) {
        Joined& joined = joined_[sample.snapshot.process];
        joined.stands_for_ns += sample.stands_for_ns;
        if (!joined.trace.steps.empty()) {
            const auto first = static_cast<std::uint32_t>(joined.trace.instructions.size());
            joined.trace.instructions.insert(joined.trace.instructions.end(), window.instructions.begin(),
                                             window.instructions.end());
            for (trace::Step step : window.steps) {
                step.instruction += first;
                joined.trace.steps.push_back(step);
            }
            window = std::move(joined.trace);
        }
        stands_for_ns_ = joined.stands_for_ns;
        if (window.steps.size() < shortest_window)
            joined.trace = window;
        else
            joined = {};
    }

    /// Lets the copy go on, first for the caches and then for a window: its last instructions, wherever it came to its
    /// end. Nothing when there was none.
    Result<WindowFacts> trace_windows(trace::Sample& sample) {
        // What runs from its exec on finds everything cold.
        const bool from_start = sample.snapshot.copy() == first_copy_;
        simulator_.begin_moment(from_start ? 0 : sample.snapshot.resident_bytes);
        trace::CopyCalls calls(sample.snapshot);
        if (options_.attribute) mappings_ = process::code_mappings_of(sample.snapshot.copy());
        if (!pages_assumed_) simulator_.set_pages(trace::PageMap::of_process(sample.snapshot.copy()));
        auto process = trace::TracedProcess::of_copy(sample.snapshot.release());
        trace::Tracer tracer(process, decoder_, options_.software_always);
        tracer.on_system_call = [&](trace::TracedProcess& copy, trace::Registers& registers) {
            switch (calls(copy, registers)) {
                case trace::CopyCalls::Answer::carry_out:
                    return trace::Tracer::CallAnswer::carry_out;
                case trace::CopyCalls::Answer::answered:
                    return trace::Tracer::CallAnswer::answered;
                case trace::CopyCalls::Answer::end:
                    break;
            }
            return trace::Tracer::CallAnswer::end;
        };
        trace::Translator translator(process, tracer);
        executed_ = 0;
        if (const auto begin = sample.snapshot.time_stamp)
            tracer.time_stamp = [this, begin] { return *begin + executed_; };  // one tick for each instruction
        std::size_t& followed = followed_[sample.snapshot.process];
        const WarmUpLimits limits = followed ? warm_up_again() : WarmUpLimits{};
        const double start = own_processor_ns();
        Steps waiting;  // the last chunk, of which the window may be
        std::vector<Steps> of_moment;
        std::size_t done = 0;
        bool ended = false, warm = false, found = false;
        std::string_view early;
        while (!ended && !found) {
            Steps fresh;
            const std::uint64_t lines_before = simulator_.lines_from_memory();
            auto traced = TRY(translator.steps(done && !warm ? limits.chunk : options_.window_instructions,
                                               [&](const trace::StaticInstruction&, const trace::Step& step) {
                                                   fresh.push_back(step);
                                                   ++executed_;
                                               }));
            note(traced);
            ended = traced.ended || traced.ended_early != trace::EndedEarly::none;
            if (traced.ended_early != trace::EndedEarly::none) early = trace::name_of(traced.ended_early);
            if (!done) sampled_.emplace(fresh);
            if (!ended && !warm && !from_start) keep_of_moment(fresh, done, of_moment);
            done += fresh.size();
            found_.translated |= translator.translates();
            if (!ended) {
                follow(waiting, waiting.size(), translator);
                waiting.clear();
            }
            waiting.insert(waiting.end(), fresh.begin(), fresh.end());
            const double spent = own_processor_ns() - start;
            const bool enough = spent >= limits.budget_ns && (!translator.translates() || done >= limits.least);
            warm = warm || done >= limits.most || enough ||
                   (done > 3 * limits.chunk && simulator_.lines_from_memory() == lines_before);
            // Not just any window: one of what ran in the moment that was sampled, if that comes again in time.
            found = warm && (from_start || done >= 2 * limits.most || spent >= limits.budget_ns + search_ns ||
                             is_like_sampled(waiting));
            take_if_due();
        }
        if (ended && early.empty()) early = name_of(calls.ended().value_or(trace::EndedBy::signals));
        if (ended) ++found_.sampling.ended_early[std::string(early)];
        if (!ended && spins(waiting, tracer, process, translator)) {
            ++found_.sampling.ended_early[std::string(name_of(trace::EndedBy::spins))];
            return WindowFacts{};
        }
        followed += done;
        hardly_warm_ = ended && followed < WarmUpLimits{}.least;
        if (!of_moment.empty() && (ended || !is_like_sampled(waiting))) {
            follow(waiting, waiting.size(), translator);
            return simulate_moment(sample, of_moment, done, translator);
        }
        // The first part of a short life is for the caches.
        const std::size_t window = std::min(options_.window_instructions, waiting.size() - waiting.size() / 4);
        follow(waiting, waiting.size() - window, translator);
        trace::Trace trace;
        trace.instructions = translator.instructions();
        trace.steps.assign(waiting.end() - static_cast<std::ptrdiff_t>(window), waiting.end());
        found_.steps += window;
        found_.warmed += done - window;
        join(sample, trace);
        auto facts = TRY(simulate(trace));
        // Where slots are put down to instructions, each window is by itself.
        if (!ended && !facts.base.empty() && !options_.attribute) TRY(add_further_windows(translator, facts));
        return facts;
    }

    /// Some windows of the moment itself and of what is like it, a little apart, are taken out of what warms the
    /// caches: where the life of the copy is short, or never comes to the like again, they are simulated when the
    /// caches know what came after them, which is as much like what came before them as anything that can be had.
    void keep_of_moment(Steps& fresh, std::size_t done, std::vector<Steps>& kept) const {
        if (kept.size() > further_windows || done < kept.size() * windows_apart || !is_like_sampled(fresh)) return;
        const auto window = std::min(options_.window_instructions, fresh.size());
        kept.emplace_back(fresh.end() - static_cast<std::ptrdiff_t>(window), fresh.end());
        fresh.resize(fresh.size() - window);
    }

    Result<WindowFacts> simulate_moment(const trace::Sample& sample, std::vector<Steps>& windows, std::size_t done,
                                        const trace::Translator& translator) {
        stands_for_ns_ = sample.stands_for_ns;
        found_.warmed += done;
        if (options_.attribute) windows.resize(1);
        WindowFacts facts;
        for (Steps& steps : windows) {
            found_.steps += steps.size();
            found_.warmed -= steps.size();
            auto more = TRY(simulate({translator.instructions(), std::move(steps)}));
            facts.base.empty() ? std::swap(facts, more) : merge(facts, more);
        }
        return facts;
    }

    /// Whether a window at its end would be of the code that ran when the sample was taken.
    bool is_like_sampled(const Steps& steps) const {
        constexpr double most_of_it = 0.5;
        const std::size_t window = std::min(options_.window_instructions, steps.size());
        return sampled_->with({steps.end() - static_cast<std::ptrdiff_t>(window), steps.end()}) >= most_of_it;
    }

    void follow(const Steps& steps, std::size_t count, const trace::Translator& translator) {
        for (std::size_t i = 0; i < count; ++i)
            simulator_.follow(translator.instructions()[steps[i].instruction], steps[i]);
    }

    void note(const trace::Traced& traced) {
        found_.undecodable += traced.undecodable;
        found_.in_software += traced.stepped_in_software;
    }

    SampledWindows finish() {
        auto& sampling = found_.sampling;
        for (auto& left : copies_) drop(left);
        for (const auto& [why, times] : sampler_.missed()) sampling.missed[std::string(trace::name_of(why))] += times;
        for (const auto& [what, times] : simulator_.known_wrong()) found_.known_wrong[what] = times;
        const auto& cost = sampler_.cost();
        sampling.pauses = {cost.copies, static_cast<double>(cost.longest_pause_ns),
                           static_cast<double>(cost.total_pause_ns), cost.copied_pages};
        sampling.processor_ns = sampler_.processor_ns();
        sampling.system_ns = sampler_.system_ns();
        sampling.by_task = task_shares(sampling.windows);
        found_.why_missed = sampler_.why_missed();
        found_.simulated = simulator_.simulated_instructions();
        found_.simulating_ns = simulator_.simulating_ns();
        found_.pages_partly_known = simulator_.pages().partly_known();
        found_.tasks = sampler_.threads_seen();
        return std::move(found_);
    }

    const SamplingRequest& request_;
    trace::Decoder& decoder_;
    const ModelOptions& options_;
    const process::HelperOrders& orders_;
    WindowSimulator simulator_;
    trace::Sampler sampler_;
    std::deque<trace::Sample> copies_;
    std::mt19937_64 random_{1};  // the same choice each time, as far as the machine allows
    struct Joined {
        trace::Trace trace;
        double stands_for_ns = 0;
    };
    std::map<pid_t, Joined> joined_;         ///< by process
    std::map<pid_t, std::size_t> followed_;  ///< instructions of each process so far
    pid_t first_copy_ = -1, traced_copy_ = -1;
    std::uint64_t models_from_ns_ = 0;  ///< before, only samples are taken
    bool in_front_ = false, stepped_back_ = false;
    process::GivesWay gives_way_;
    std::size_t executed_ = 0;               ///< instructions of the copy that is traced
    std::optional<WindowLikeness> sampled_;  ///< its first ones
    double stands_for_ns_ = 0;               ///< what its window does
    bool pages_assumed_ = false, hardly_warm_ = false;
    std::vector<process::CodeMapping> mappings_;  ///< of the copy that is traced
    SampledWindows found_;
};

}  // namespace

SampledWindows sample_windows(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder,
                              const ModelledCpu& cpu, const ModelOptions& options, const process::HelperOrders& orders,
                              const std::function<void()>& ready) {
    return WindowSampling(request, core, decoder, cpu, options, orders).run(ready);
}

}  // namespace tmaprobe::model
