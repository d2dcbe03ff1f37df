#include "counters/model/simulation.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/sizes.h"
#include "counters/command.h"
#include "counters/model/branch_predictor.h"
#include "counters/model/held.h"
#include "counters/model/memory_system.h"
#include "counters/model/page_map.h"
#include "counters/model/translator.h"

namespace tmaprobe::counters::model {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

/// Processor time of this process: on a busy machine a budget of it still does the same work.
double processor_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void add(Facts& sum, const Facts& more, double weight) {
    for (const auto& [name, value] : more) sum[name] += weight * value;
}

double cycles_of(const Facts& facts) {
    const auto found = facts.find("cycles");
    return found == facts.end() ? 0 : found->second;
}

/// Processor time of another process; 0 when it cannot be read.
double processor_ns(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Processor time of the children that have ended, with theirs.
double processor_ns_of_children() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const auto ns = [](const timeval& time) { return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec); };
    return ns(used.ru_utime) + ns(used.ru_stime);
}

/// How far caches and predictors are filled before a window.
struct WarmUp {
    std::size_t chunk = 50000, most = 6000000;  ///< instructions
    std::size_t least = 500000;  ///< even when the budget is spent: on a slow machine a cold window is no answer
    double budget_ns = 270e6;    ///< of processor time here
};

/// One window simulated as it is and with each variation.
struct WindowFacts {
    Facts base;
    std::vector<std::pair<const char*, Facts>> variations;
    double native_ns = 0;  ///< that it stands for
};

class Simulation {
  public:
    Simulation(Workload& workload, std::uint64_t iterations, core::Core& core, Decoder& decoder, const Geometry& geometry,
               const Options& options)
        : workload_(workload), iterations_(iterations), core_(core), decoder_(decoder), geometry_(geometry), options_(options),
          is_command_(!workload.command().empty()),
          memory_(geometry, [this](std::uint64_t address) { return pages_.page_bytes(address); }, {}) {}

    Result<Modelled> run() {
        if (!is_command_ && !workload_.threads().empty())
            return fail(ErrorCode::unavailable, "this kernel's work is done by several threads, which are not modelled",
                        "the model follows one thread; run it with one, or count with --source perf");
        if (auto chosen = choose_pages(); !chosen) return pass_on(chosen);
        const double processor_before = processor_ns_of_children();
        auto process = start();
        if (!process) return pass_on(process);
        // Ctrl-C ends the command, not us: what was seen until then can still be told.
        std::optional<SignalWatch> signals;
        Handover handover;
        if (is_command_) {
            signals.emplace();
            process->signal_to_hand_on = [&signals, &handover, command = process->pid()](std::int64_t patience_ns) {
                const int signal = handover.answer(signals->wait(patience_ns), command);
                return handover.gives_up_at(now_ns()) ? SIGKILL : signal;
            };
        }
        Tracer tracer(*process, decoder_, options_.software_always);
        Translator translator(*process, tracer);
        const int windows = is_command_ ? options_.command_windows : options_.windows;
        bool ended = false;
        for (int i = 0; i < windows && !ended; ++i) {
            auto running = run_natively(*process, i);
            if (!running) return pass_on(running);
            if (!*running) break;
            auto done = window(*process, translator, i);
            if (!done && !is_command_) return pass_on(done);
            if (!done) {
                // The user's program is not ours to stop: it goes on to its end, and its time and status are told.
                modelled_.warnings.push_back({"model_stopped", "the model stopped: " + done.error().what, done.error().hint});
                break;
            }
            // A command goes on when one of its threads or children has ended.
            ended = *done && (!is_command_ || process->exit_status());
        }
        if (is_command_) {
            const auto start_of_rest = Clock::now();
            if (auto done = process->finish(); !done) return pass_on(done);
            modelled_.native_ns += ns_since(start_of_rest);
            if (!windows_.empty()) windows_.back().native_ns += ns_since(start_of_rest);
            modelled_.exit_status = process->exit_status();
            modelled_.elapsed_ns = process->elapsed_ns();
            modelled_.processor_ns = processor_ns_of_children() - processor_before;
            held_.stops = process->stops();
        }
        modelled_.interrupted = handover.signal() != 0;
        if (handover.signal())
            modelled_.warnings.push_back({"interrupted", "stopped by a signal: this is what was modelled until then", ""});
        modelled_.further_tasks = process->further_tasks();
        modelled_.translated = translator.translates();
        return finish();
    }

  private:
    Result<> choose_pages() {
        if (!options_.assume_pages.empty()) {
            auto bytes = parse_assumed_pages(options_.assume_pages);
            if (!bytes) return pass_on(bytes);
            pages_ = PageMap::uniform(*bytes);
        } else if (!is_command_) {
            // The child shares this process's memory as it is mapped here.
            pages_ = PageMap::of_process(::getpid());
        }
        return {};
    }

    Result<TracedProcess> start() {
        if (is_command_) return TracedProcess::start_command(workload_.command());
        return TracedProcess::fork_function([this] {
            for (;;) workload_.run(iterations_);
        });
    }

    /// Lets the workload run untraced up to the next window. False when it ended.
    Result<bool> run_natively(TracedProcess& process, int index) {
        if (is_command_ && index == 0 && options_.command_alone_ms == 0) return true;  // the first window is its start
        // A command's length is not known: windows lie ever further apart.
        constexpr int kernel_ms = 5, first_ms = 4, longest_ms = 4000, doublings = 10;
        const int milliseconds = !is_command_ ? kernel_ms
                                 : index == 0 ? options_.command_alone_ms
                                              : std::min(longest_ms, first_ms << std::min(index, doublings));
        const auto start = Clock::now();
        const double before = processor_ns(process.thread());
        // A look at a program that waits would hold it up, and see nothing.
        constexpr double least_busy = 0.05;
        auto running = process.run_for(milliseconds, is_command_ ? least_busy : 0);
        // A busy machine may not have let a kernel run at all; a window at its very start is not steady.
        constexpr int patience = 40;
        const auto has_run = [&] { return processor_ns(process.thread()) - before >= kernel_ms * 1e6 / 2; };
        for (int again = 0; again < patience && !is_command_ && running && *running && !has_run(); ++again)
            running = process.run_for(milliseconds);
        const double ran = ns_since(start);
        modelled_.native_ns += ran;
        if (!windows_.empty()) windows_.back().native_ns += ran;
        if (running && *running && is_command_ && options_.assume_pages.empty()) pages_ = PageMap::of_process(process.thread());
        return running;
    }

    /// True when the traced thread ended in it.
    Result<bool> window(TracedProcess& process, Translator& translator, int index) {
        const auto start = Clock::now();
        const HeldWatch watch(process, held_);
        ++held_.looks;
        bool ended = false;
        if (auto warmed = warm_up(watch, translator, index == 0); !warmed)
            return pass_on(warmed);
        else
            ended = *warmed;
        if (work_is_elsewhere(watch)) return false;
        Trace trace;
        if (!ended) {
            auto traced = translator.steps(options_.window_instructions, [&](const StaticInstruction&, const Step& step) {
                if (trace.steps.size() < options_.window_instructions) trace.steps.push_back(step);
            });
            if (!traced) return pass_on(traced);
            note(*traced, trace.steps.size());
            ended = traced->ended;
        }
        modelled_.tracing_ns += ns_since(start);
        trace.instructions = translator.instructions();
        note_known_wrong(trace);
        if (trace.steps.empty()) return ended;
        if (auto simulated = simulate(trace); !simulated) return pass_on(simulated);
        if (is_command_ && process.exit_status()) ended = true;
        return ended;
    }

    /// Which of the geometry's known errors the window has run into.
    void note_known_wrong(const Trace& trace) {
        for (const KnownWrong& wrong : geometry_.known_wrong) {
            const auto is_one = [&](const Step& step) {
                const auto& bytes = trace.instructions[step.instruction].bytes;
                return std::any_of(wrong.bytes.begin(), wrong.bytes.end(), [&](const auto& sequence) {
                    return std::search(bytes.begin(), bytes.end(), sequence.begin(), sequence.end()) != bytes.end();
                });
            };
            const auto count = std::count_if(trace.steps.begin(), trace.steps.end(), is_one);
            if (count) known_wrong_[wrong.what] += static_cast<std::size_t>(count);
        }
    }

    void note(const Traced& traced, std::size_t steps) {
        modelled_.traced.steps += steps;
        modelled_.traced.undecodable += traced.undecodable;
        modelled_.traced.stepped_in_software += traced.stepped_in_software;
        modelled_.traced.code_changed |= traced.code_changed;
    }

    /// A thread that waited while it was looked at, beside others: a shell whose children do the work.
    bool work_is_elsewhere(const HeldWatch& watch) const { return is_command_ && watch.waited_for_others(); }

    /// True when the traced thread ended in it.
    Result<bool> warm_up(const HeldWatch& watch, Translator& translator, bool at_start) {
        WarmUp limits;
        if (is_command_ && at_start && options_.command_alone_ms == 0) return false;  // its beginning finds everything cold
        if (!windows_.empty()) {
            limits.most = 1000000;
            limits.least = 0;
            limits.budget_ns = 45e6;
        }
        const double start = processor_ns();
        const auto spent = [&] { return processor_ns() - start; };
        constexpr std::size_t trial = 1000;
        std::size_t done = 0, chunk = trial;
        bool stepping = false;
        const StaticInstruction* branch = nullptr;
        const auto on_step = [&](const StaticInstruction& instruction, const Step& step) {
            if (branch) learn(*branch, instruction.address);
            branch = nullptr;
            if (instruction.branch) {
                last_branch_ = instruction;
                branch = &last_branch_;
            }
            memory_.warm(instruction, step);
        };
        while (done < limits.most && (spent() < limits.budget_ns || (!stepping && done < limits.least))) {
            const std::uint64_t lines_before = memory_.lines_from_memory();
            auto traced = translator.steps(chunk, on_step);
            if (!traced) return pass_on(traced);
            done += traced->steps;
            modelled_.warmed += traced->steps;
            modelled_.traced.code_changed |= traced->code_changed;
            if (traced->ended) return true;
            if (work_is_elsewhere(watch)) return false;
            stepping = !translator.translates();
            // Warm when what it touches comes from memory no more. One line in a chunk is too many: code that
            // works a thousand cycles on each line would seem to be warm on its first way through its data.
            if (done > limits.chunk && traced->steps >= limits.chunk && memory_.lines_from_memory() == lines_before) break;
            // Code that has to be stepped is slow: no chunk may take more than what is left of the budget.
            const double per_step = std::max(1.0, spent()) / static_cast<double>(done);
            const double affordable = std::max(0.0, limits.budget_ns - spent()) / per_step;
            chunk = stepping ? std::clamp<std::size_t>(static_cast<std::size_t>(affordable), trial, limits.chunk) : limits.chunk;
        }
        return false;
    }

    void learn(const StaticInstruction& branch, std::uint64_t next) {
        predictor_.mispredicts(branch, next != branch.address + branch.length || branch.target == next, next);
    }

    Result<> simulate(const Trace& trace) {
        const auto start = Clock::now();
        struct Kind {
            const char* what;
            MemoryVariation variation;
        };
        const MemoryGeometry& memory = geometry_.memory;
        const Kind kinds[] = {{"no prefetchers", {0, false}},
                              {"memory latency low", {memory.latency_low_ns, true}},
                              {"memory latency high", {memory.latency_high_ns, true}}};
        WindowFacts facts;
        // Each works on a copy of the state before the window; no more than one copy is there at a time.
        const BranchPredictor predictor_before = predictor_;
        auto base = simulate_once(trace, MemorySystem(memory_), predictor_);
        if (!base) return pass_on(base);
        facts.base = std::move(*base);
        // Code that lives in its first-level cache cannot tell the variations apart.
        const bool memory_matters = facts.base["l2_misses"] + facts.base["lines_prefetched"] > facts.base["instructions"] / 5000;
        for (const Kind& kind : kinds) {
            if (!memory_matters) break;
            MemorySystem varied = memory_;
            BranchPredictor predictor = predictor_before;
            varied.vary(kind.variation);
            auto simulated = simulate_once(trace, std::move(varied), predictor);
            if (!simulated) return pass_on(simulated);
            facts.variations.emplace_back(kind.what, std::move(*simulated));
        }
        for (const Step& step : trace.steps) memory_.warm(trace.instructions[step.instruction], step);
        windows_.push_back(std::move(facts));
        modelled_.simulating_ns += ns_since(start);
        return {};
    }

    Result<Facts> simulate_once(const Trace& trace, MemorySystem memory, BranchPredictor& predictor) {
        constexpr std::size_t longest_lead_in = 2000;
        memory.begin_window();
        const core::Window window{0, trace.steps.size(), std::min(trace.steps.size() / 4, longest_lead_in),
                                  [&] { memory.reset_facts(); }, nullptr};
        auto simulated = core_.simulate(trace, window, memory, predictor);
        if (!simulated) return pass_on(simulated);
        modelled_.simulated_instructions += simulated->steps;
        const auto named = core::named(simulated->facts);
        Facts facts(named.begin(), named.end());
        add(facts, memory.facts(), 1);
        return facts;
    }

    Result<Modelled> finish() {
        if (is_command_) {
            Added& added = modelled_.added;
            added = added_by(held_, modelled_.warmed + modelled_.traced.steps, cycles_per_instruction(), geometry_.frequency_hz);
            added.high_ns = std::min(added.high_ns, static_cast<double>(modelled_.elapsed_ns));  // no time is less than none
        }
        if (windows_.empty() && is_command_) {  // it has run and its status is known: that is worth telling
            const auto& said = modelled_.warnings;
            if (std::none_of(said.begin(), said.end(), [](const auto& warning) { return warning.id == "model_stopped"; }))
                modelled_.warnings.push_back(nothing_traced());
            return std::move(modelled_);
        }
        if (windows_.empty())
            return fail(ErrorCode::unavailable, "the program ended before anything could be traced", "give it more to do");
        double all_cycles = 0, all_native = 0;
        for (WindowFacts& window : windows_) {
            modelled_.windows.push_back({cycles_of(window.base), window.base["instructions"], window.native_ns});
            all_cycles += cycles_of(window.base);
            all_native += window.native_ns;
        }
        const auto weight = [&](const WindowFacts& window) {
            if (!is_command_ || all_native <= 0 || cycles_of(window.base) <= 0) return 1.0;
            return window.native_ns / all_native * all_cycles / cycles_of(window.base);
        };
        std::map<std::string, Facts> varied;
        for (const WindowFacts& window : windows_) {
            add(modelled_.facts, window.base, weight(window));
            // A kernel repeats itself, so its windows differ by chance; a command's differ because it does, and what
            // is by chance is only which of its moments they met.
            if (!is_command_) modelled_.variations.push_back({"window", window.base});
            else if (windows_.size() > 1) modelled_.variations.push_back({"window left out", all_but(window, weight)});
            for (const auto& [what, facts] : window.variations) add(varied[what], facts, weight(window));
            if (!varied.empty() && window.variations.empty())
                for (auto& [what, facts] : varied) add(facts, window.base, weight(window));
        }
        for (auto& [what, facts] : varied) modelled_.variations.push_back({what == "no prefetchers" ? "no prefetchers" : "memory latency", std::move(facts)});
        modelled_.modelled_ns = all_cycles / geometry_.frequency_hz * 1e9;
        add_warnings();
        return std::move(modelled_);
    }

    /// Of the windows; 0: there was none.
    double cycles_per_instruction() {
        double cycles = 0, instructions = 0;
        for (WindowFacts& window : windows_) {
            cycles += cycles_of(window.base);
            instructions += window.base["instructions"];
        }
        return instructions > 0 ? cycles / instructions : 0;
    }

    record::Warning nothing_traced() const {
        const std::string took = format_ns(static_cast<double>(modelled_.elapsed_ns)), used = format_ns(modelled_.processor_ns);
        const bool waited = modelled_.processor_ns < 0.1 * static_cast<double>(modelled_.elapsed_ns);
        const char* const more = options_.command_alone_ms > 0 ? "give it more to do, or model even its first instructions with --source model" : "give it more to do";
        if (waited)
            return {"nothing_traced", fmt::format("nothing is modelled: the command took {} and used a CPU for {} of it; the rest it waited", took, used),
                    "what a program waits for cannot be modelled; --source none counts its software events"};
        if (held_.looks == 0)
            return {"nothing_traced", fmt::format("nothing is modelled: the command ended after {}, before its first window", took), more};
        return {"nothing_traced", fmt::format("nothing is modelled: the command ended after {}; {}", took,
                                              held_.looks == 1 ? "the process that was looked at ended before its first window was complete"
                                                               : fmt::format("each of the {} processes that were looked at ended before a window of it was complete", held_.looks)), more};
    }

    template <class Weight>
    Facts all_but(const WindowFacts& left_out, const Weight& weight) const {
        Facts rest;
        for (const WindowFacts& window : windows_)
            if (&window != &left_out) add(rest, window.base, weight(window));
        return rest;
    }

    void add_warnings() {
        auto& warnings = modelled_.warnings;
        if (modelled_.further_tasks)
            warnings.push_back({"model_tasks", fmt::format("{} further {} ran; each window follows the one that was busiest", modelled_.further_tasks, modelled_.further_tasks == 1 ? "thread or process" : "threads or processes"),
                                "threads are modelled one at a time, as if alone on the core and its caches"});
        if (is_command_ && windows_.size() == 1)
            warnings.push_back({"model_one_window", "one window of the command was modelled: the bounds do not cover what another moment of it would have given", "give it more to do"});
        if (modelled_.traced.undecodable)
            warnings.push_back({"model_undecodable", fmt::format("{} of {} traced instructions could not be decoded and count as nothing", modelled_.traced.undecodable, modelled_.traced.steps), ""});
        if (const double unmodelled = modelled_.facts["unmodelled"]; unmodelled > 0)
            warnings.push_back({"model_unmodelled", fmt::format("LLVM's model does not know {:.2f}% of the executed instructions; they count as nothing", 100 * unmodelled / std::max(1.0, modelled_.facts["instructions"])), ""});
        if (modelled_.traced.code_changed)
            warnings.push_back({"model_code_changed", "the program rewrote its code while it was traced", "figures of just-in-time compiled code are of the code as it was first seen"});
        for (const auto& [what, count] : known_wrong_)
            warnings.push_back({"model_known_wrong", fmt::format("{} ({:.0f}% of the traced instructions): do not trust this result", what, 100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, modelled_.traced.steps))),
                                "choose another target; docs/model.md says what is known to be wrong"});
        if (pages_.partly_known())
            warnings.push_back({"model_pages", "some memory is only partly in huge pages; which part is not known", "--assume-pages 4k or 2m bounds it"});
    }

    Workload& workload_;
    std::uint64_t iterations_;
    core::Core& core_;
    Decoder& decoder_;
    const Geometry& geometry_;
    const Options& options_;
    bool is_command_;
    PageMap pages_;
    MemorySystem memory_;
    BranchPredictor predictor_;
    StaticInstruction last_branch_;
    std::vector<WindowFacts> windows_;
    std::map<std::string, std::size_t> known_wrong_;  ///< executions
    Modelled modelled_;
    Held held_;
};

}  // namespace

Result<Modelled> simulate_workload(Workload& workload, std::uint64_t iterations, core::Core& core, Decoder& decoder,
                                   const Geometry& geometry, const Options& options) {
    return Simulation(workload, iterations, core, decoder, geometry, options).run();
}

}  // namespace tmaprobe::counters::model
