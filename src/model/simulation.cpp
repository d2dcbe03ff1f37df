#include "model/simulation.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "model/sum_of_windows.h"
#include "trace/page_map.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

/// Processor time of another process; 0 when it cannot be read.
double processor_ns_of(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Of a kernel, in a forked child that runs it for ever.
class Simulation {
  public:
    Simulation(counters::Workload& workload, std::uint64_t iterations, core::Core& core, trace::Decoder& decoder,
               const ModelledCpu& cpu, const ModelOptions& options)
        : workload_(workload),
          iterations_(iterations),
          decoder_(decoder),
          cpu_(cpu),
          options_(options),
          simulator_(core, cpu) {}

    Result<Modelled> run() {
        if (!workload_.threads().empty())
            return fail(ErrorCode::unavailable, "this kernel's work is done by several threads, which are not modelled",
                        "the model follows one thread; run it with one, or count with --source perf");
        // The child shares this process's memory as it is mapped here.
        auto pages = TRY(assumed_pages(options_));
        simulator_.set_pages(pages ? *pages : trace::PageMap::of_process(::getpid()));
        if (options_.attribute) simulator_.attribute_slots();
        auto process = trace::TracedProcess::fork_function([this] {
            for (;;) workload_.run(iterations_);
        });
        if (!process) return pass_on(process);
        trace::Tracer tracer(*process, decoder_, options_.software_always);
        trace::Translator translator(*process, tracer);
        for (int i = 0; i < options_.windows; ++i) {
            auto running = TRY(run_natively(*process));
            if (!running) break;
            auto ended = TRY(window(translator));
            if (ended) break;
        }
        if (windows_.empty())
            return fail(ErrorCode::unavailable, "the program ended before anything could be traced",
                        "give it more to do");
        modelled_.translated = translator.translates();
        sum_up(windows_, false, cpu_, modelled_);
        if (options_.attribute) modelled_.attribution = attribution_of(windows_, false, cpu_, modelled_);
        add_model_warnings(simulator_.known_wrong(), simulator_.pages().partly_known(), modelled_);
        modelled_.simulating_ns = simulator_.simulating_ns();
        modelled_.simulated_instructions = simulator_.simulated_instructions();
        return std::move(modelled_);
    }

  private:
    /// Lets the kernel run untraced up to the next window. False when it ended.
    Result<bool> run_natively(trace::TracedProcess& process) {
        constexpr int kernel_ms = 5;
        const auto start = Clock::now();
        const double before = processor_ns_of(process.thread());
        auto running = process.run_for(kernel_ms);
        // A busy machine may not have let a kernel run at all; a window at its very start is not steady.
        constexpr int patience = 40;
        const auto has_run = [&] { return processor_ns_of(process.thread()) - before >= kernel_ms * 1e6 / 2; };
        for (int again = 0; again < patience && running && *running && !has_run(); ++again)
            running = process.run_for(kernel_ms);
        const double ran = ns_since(start);
        modelled_.native_ns += ran;
        if (!windows_.empty()) windows_.back().native_ns += ran;
        return running;
    }

    /// True when the traced thread ended in it.
    Result<bool> window(trace::Translator& translator) {
        const auto start = Clock::now();
        auto warmed = TRY(simulator_.warm_up(translator, windows_.empty() ? WarmUpLimits{} : warm_up_again()));
        modelled_.warmed += warmed.instructions;
        if (warmed.ended_early != trace::EndedEarly::none) {
            ++modelled_.ended_early[warmed.ended_early];
            return false;
        }
        trace::Trace trace;
        bool ended = warmed.ended;
        if (!ended) {
            auto traced = translator.steps(options_.window_instructions,
                                           [&](const trace::StaticInstruction&, const trace::Step& step) {
                                               if (trace.steps.size() < options_.window_instructions)
                                                   trace.steps.push_back(step);
                                           });
            if (!traced) return pass_on(traced);
            modelled_.traced.steps += trace.steps.size();
            modelled_.traced.undecodable += traced->undecodable;
            modelled_.traced.stepped_in_software += traced->stepped_in_software;
            if (traced->ended_early != trace::EndedEarly::none) ++modelled_.ended_early[traced->ended_early];
            ended = traced->ended;
        }
        modelled_.tracing_ns += ns_since(start);
        trace.instructions = translator.instructions();
        if (trace.steps.empty()) return ended;
        auto facts = TRY(simulator_.simulate(trace));
        if (options_.attribute) {
            facts.process = ::getpid();
            facts.mappings = process::code_mappings_of(facts.process);
        }
        windows_.push_back(std::move(facts));
        return ended;
    }

    counters::Workload& workload_;
    std::uint64_t iterations_;
    trace::Decoder& decoder_;
    const ModelledCpu& cpu_;
    const ModelOptions& options_;
    WindowSimulator simulator_;
    std::vector<WindowFacts> windows_;
    Modelled modelled_;
};

}  // namespace

Result<Modelled> simulate_kernel(counters::Workload& workload, std::uint64_t iterations, core::Core& core,
                                 trace::Decoder& decoder, const ModelledCpu& cpu, const ModelOptions& options) {
    return Simulation(workload, iterations, core, decoder, cpu, options).run();
}

}  // namespace tmaprobe::model
