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
#include <set>
#include <string_view>

#include "model/sum_of_windows.h"
#include "model/window_likeness.h"
#include "process/held_command.h"
#include "trace/copy_calls.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t most_waiting_copies = 8;
constexpr std::size_t shortest_window = 1000;  ///< instructions
constexpr double search_ns = 45e6;             ///< of processor time, for a window like the moment that was sampled

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
        if (request_.held_command)
            take_first(ready);
        else
            ready();
        while (!orders_.over()) {
            const std::uint64_t now = process::now_ns();
            if (now >= sampler_.next_ns())
                take();
            else if (!copies_.empty())
                model_next();
            else
                orders_.over(std::min<std::int64_t>(
                    patience_ns(), static_cast<std::int64_t>(sampler_.next_ns() - std::min(now, sampler_.next_ns()))));
        }
        come_forward();
        const std::uint64_t end = process::now_ns();
        const double budget_ns = std::max(request_.shortest_budget_ns, static_cast<double>(end - start));
        while (!copies_.empty() && static_cast<double>(process::now_ns() - end) < budget_ns) model_next();
        return finish();
    }

  private:
    std::int64_t patience_ns() {
        constexpr std::int64_t short_ns = 1'000'000, long_ns = 1'000'000'000;
        return sampler_.settle() ? short_ns : long_ns;
    }

    void take() {
        auto sample = sampler_.take();
        if (!sample) return;
        // Where there is no time to model them all, those that are spread over the run.
        if (copies_.size() >= most_waiting_copies) {
            const auto dropped = copies_.begin() + static_cast<std::ptrdiff_t>(random_() % copies_.size());
            (dropped + 1 == copies_.end() ? *sample : dropped[1]).stands_for_ns += dropped->stands_for_ns;
            drop(*dropped);
            copies_.erase(dropped);
        }
        copies_.push_back(std::move(*sample));
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
        constexpr int most = 3;
        constexpr std::size_t apart = 100'000;
        constexpr double budget_ns = 120e6;
        const double start = own_processor_ns();
        for (int i = 0; i < most && own_processor_ns() - start < budget_ns; ++i) {
            auto traced =
                TRY(translator.steps(apart, [&](const trace::StaticInstruction& instruction, const trace::Step& step) {
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

    /// A short loop that writes nothing, reads the same all the time, and comes back to the same registers: it waits
    /// for what only another thread could change.
    static bool spins(const Steps& steps, trace::Tracer& tracer, const trace::TracedProcess& process,
                      const trace::Translator& translator) {
        constexpr std::size_t longest_loop = 16, most_addresses = 2, looked_at = 1000;
        if (steps.size() < looked_at) return false;
        std::set<std::uint32_t> instructions;
        std::set<std::uint64_t> loads;
        for (auto step = steps.end() - looked_at; step != steps.end(); ++step) {
            instructions.insert(step->instruction);
            if (step->load) loads.insert(step->load);
            const bool writes = step->store != 0 || translator.instructions()[step->instruction].system;
            if (writes || instructions.size() > longest_loop || loads.size() > most_addresses) return false;
        }
        const auto first = process.registers();
        if (!first) return false;
        for (std::size_t i = 0; i < 2 * longest_loop; ++i) {
            trace::Trace ignored;
            const auto stepped = tracer.trace(1, ignored);
            const auto now = process.registers();
            if (!stepped || stepped->ended || !now) return false;
            if (same_general(*first, *now)) return true;
        }
        return false;
    }

    static bool same_general(const trace::Registers& one, const trace::Registers& other) {
        if (one.instruction_pointer() != other.instruction_pointer()) return false;
        constexpr int general_registers = 16;
        for (int i = 0; i < general_registers; ++i)
            if (one.general(i) != other.general(i)) return false;
        return true;
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
        share_out();
        found_.why_missed = sampler_.why_missed();
        found_.simulated = simulator_.simulated_instructions();
        found_.simulating_ns = simulator_.simulating_ns();
        found_.pages_partly_known = simulator_.pages().partly_known();
        found_.tasks = sampler_.threads_seen();
        return std::move(found_);
    }

    void share_out() {
        auto& tasks = found_.sampling.by_task;
        double all = 0;
        for (const auto& window : found_.sampling.windows) {
            all += window.stands_for_ns;
            const auto same = [&](const record::TaskShare& task) {
                return task.pid == window.pid && task.program == window.program;
            };
            auto task = std::find_if(tasks.begin(), tasks.end(), same);
            if (task == tasks.end()) task = tasks.insert(task, {window.program, window.pid, 0});
            task->share += window.stands_for_ns;
        }
        for (auto& task : tasks) task.share = all > 0 ? task.share / all : 1.0 / static_cast<double>(tasks.size());
        std::sort(tasks.begin(), tasks.end(),
                  [](const auto& one, const auto& other) { return one.share > other.share; });
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
