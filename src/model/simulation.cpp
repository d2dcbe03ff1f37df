#include "model/simulation.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "base/file.h"
#include "model/sum_of_windows.h"
#include "model/trace_writer.h"
#include "trace/page_map.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

using Clock = std::chrono::steady_clock;

/// Processor time of another process; 0 when it cannot be read.
double processor_ns_of(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// By instructions alone: the same in each run.
constexpr WarmUpLimits kernel_first_warm_up{.most = 3'000'000, .least = 0, .by_time = false, .until_all_met = true},
    kernel_warm_up_again{.most = 500'000, .least = 0, .budget_ns = 45e6, .by_time = false};

/// Of a kernel, in a forked child that runs it for ever.
class Simulation {
  public:
    Simulation(counters::Workload& workload, core::Core& core, trace::Decoder& decoder, const ModelledCpu& cpu,
               const ModelOptions& options)
        : workload_(workload), decoder_(decoder), cpu_(cpu), options_(options), simulator_(core, cpu) {}

    Result<Modelled> run() {
        if (!workload_.threads().empty())
            return fail(ErrorCode::unavailable, "this kernel's work is done by several threads, which are not modelled",
                        "the model follows one thread; run it with one, or count with --source perf");
        const auto trace_file = TRY(trace_writer(options_.trace));
        if (trace_file) simulator_.log_to(*trace_file);
        // The child shares this process's memory as it is mapped here.
        auto pages = TRY(assumed_pages(options_));
        simulator_.set_pages(pages ? *pages : trace::PageMap::of_process(::getpid()));
        if (options_.attribute) simulator_.attribute_slots();
        auto process = TRY(trace::TracedProcess::fork_function([this] { run_kernel(); }));
        TRY(wait_for_start(process));
        simulator_.set_addresses(OwnAddresses(
            read_file("/proc/" + std::to_string(process.pid()) + "/maps").value_or(""), simulator_.pages()));
        trace::Tracer tracer(process, decoder_, options_.software_always);
        trace::Translator translator(process, tracer);
        for (int i = 0; i < options_.windows; ++i) {
            auto running = TRY(skip(process, translator));
            if (!running) break;
            auto ended = TRY(window(translator));
            if (ended) break;
        }
        if (windows_.empty())
            return fail(ErrorCode::unavailable, "the program ended before anything could be traced",
                        "give it more to do");
        modelled_.translated = translator.translates();
        const std::string trace_problem = finish_trace(trace_file.get(), windows_, false, simulator_.addresses());
        sum_up(windows_, false, cpu_, modelled_);
        if (options_.attribute) modelled_.attribution = attribution_of(windows_, false, cpu_, modelled_);
        // Where instructions are executed one at a time, or in software, counting would take minutes.
        const bool is_quick = modelled_.translated && modelled_.traced.stepped_in_software == 0;
        if (options_.core_clock_hz && is_quick)
            if (const double instructions = instructions_per_operation().value_or(0); instructions > 0)
                modelled_.clock_check = record::ClockCheck{.windows = windows_.size(), .instructions = instructions};
        add_model_warnings(simulator_.known_wrong(), simulator_.pages().partly_known(), modelled_);
        add_trace_warning(trace_problem, modelled_);
        modelled_.simulating_ns = simulator_.simulating_ns();
        modelled_.simulated_instructions = simulator_.simulated_instructions();
        return std::move(modelled_);
    }

  private:
    /// In the child: the same from its start on each time, on a stack that begins at the same place in its page. The
    /// number of iterations that are timed is chance.
    void run_kernel() {
        constexpr std::size_t stack_bytes = std::size_t{1} << 20;
        void* const stack =
            ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED) ::_exit(1);
        child_.start = [this] {
            workload_.restart();
            ::syscall(SYS_kill, ::syscall(SYS_getpid), SIGSTOP);
            constexpr std::uint64_t iterations_at_once = std::uint64_t{1} << 16;
            // By a name of its own: where this object is in its page is chance.
            for (counters::Workload& workload = workload_;;) workload.run(iterations_at_once);
        };
        ::getcontext(&child_.context);
        child_.context.uc_stack.ss_sp = stack;
        child_.context.uc_stack.ss_size = stack_bytes;
        child_.context.uc_link = nullptr;
        const auto address = reinterpret_cast<std::uintptr_t>(&child_);
        ::makecontext(&child_.context, reinterpret_cast<void (*)()>(&start_child), 2,
                      static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
        ::setcontext(&child_.context);
    }

    /// Counted in a child of its own, from the kernel's start on; 0: they are too many.
    Result<double> instructions_per_operation() {
        // So many operations that what begins and ends a run, some thousand instructions, does not matter.
        constexpr double operations = 65536;
        constexpr std::size_t most = 50'000'000;
        const double of_each = workload_.operations_per_iteration();
        const auto iterations = static_cast<std::uint64_t>(std::ceil(operations / of_each));
        auto process = TRY(trace::TracedProcess::fork_function([this, iterations] {
            workload_.restart();
            ::syscall(SYS_kill, ::syscall(SYS_getpid), SIGSTOP);
            workload_.run(iterations);
            ::_exit(0);
        }));
        TRY(wait_for_start(process));
        trace::Tracer tracer(process, decoder_, options_.software_always);
        trace::Translator translator(process, tracer, trace::Translator::Notes::blocks);
        const auto traced = TRY(translator.steps(most, {}));
        if (!traced.ended) return 0;
        return static_cast<double>(traced.steps) / (static_cast<double>(iterations) * of_each);
    }

    struct Child {
        ucontext_t context{};
        std::function<void()> start;
    };

    static void start_child(unsigned high, unsigned low) {
        const std::uintptr_t address = std::uintptr_t{high} << 32 | low;
        reinterpret_cast<Child*>(address)->start();
    }

    /// To the kernel's own stop, from which on all is the same each time.
    static Result<> wait_for_start(trace::TracedProcess& process) {
        for (;;) {
            const auto stop = TRY(process.resume());
            if (stop.why == trace::Stop::Why::exited)
                return fail(ErrorCode::system, "the kernel's process ended before it began");
            if (stop.why == trace::Stop::Why::signal && stop.signal == SIGSTOP) return {};
        }
    }

    /// Goes on to the next window: by a number of instructions, or where code has to be stepped, which is slow, by the
    /// clock. False when it ended.
    Result<bool> skip(trace::TracedProcess& process, trace::Translator& translator) {
        constexpr std::size_t to_see = 1000, piece = 50'000, skipped = 3'000'000;
        auto traced = TRY(translator.steps(to_see, {}));
        if (!translator.translates()) return run_natively(process);
        const auto goes_on = [&] { return !traced.ended && traced.ended_early == trace::EndedEarly::none; };
        // Code that rewrites itself is slow to follow, too.
        for (std::size_t done = to_see; done < skipped && goes_on() && !traced.code_changed; done += piece)
            traced = TRY(translator.steps(piece, {}));
        return !traced.ended;
    }

    /// Lets the kernel run untraced up to the next window. False when it ended.
    static Result<bool> run_natively(trace::TracedProcess& process) {
        constexpr int kernel_ms = 5;
        const double before = processor_ns_of(process.pid());
        auto running = process.run_for(kernel_ms);
        // A busy machine may not have let a kernel run at all; a window at its very start is not steady.
        constexpr int patience = 40;
        const auto has_run = [&] { return processor_ns_of(process.pid()) - before >= kernel_ms * 1e6 / 2; };
        for (int again = 0; again < patience && running && *running && !has_run(); ++again)
            running = process.run_for(kernel_ms);
        return running;
    }

    /// True when the traced thread ended in it.
    Result<bool> window(trace::Translator& translator) {
        const auto start = Clock::now();
        auto warmed =
            TRY(simulator_.warm_up(translator, windows_.empty() ? kernel_first_warm_up : kernel_warm_up_again));
        modelled_.warmed += warmed.instructions;
        if (warmed.ended_early != trace::EndedEarly::none) {
            ++modelled_.ended_early[warmed.ended_early];
            return false;
        }
        trace::Trace trace;
        bool ended = warmed.ended;
        if (!ended) {
            const auto traced = TRY(translator.steps(options_.window_instructions,
                                                     [&](const trace::StaticInstruction&, const trace::Step& step) {
                                                         if (trace.steps.size() < options_.window_instructions)
                                                             trace.steps.push_back(step);
                                                     }));
            modelled_.traced.steps += trace.steps.size();
            modelled_.traced.undecodable += traced.undecodable;
            modelled_.traced.stepped_in_software += traced.stepped_in_software;
            if (traced.ended_early != trace::EndedEarly::none) ++modelled_.ended_early[traced.ended_early];
            ended = traced.ended;
        }
        modelled_.tracing_ns += ns_since(start);
        trace.instructions = translator.instructions();
        if (trace.steps.empty()) return ended;
        auto facts = TRY(simulator_.simulate(trace));
        if (options_.keeps_mappings()) {
            facts.process = ::getpid();
            facts.mappings = process::memory_mappings_of(facts.process);
        }
        windows_.push_back(std::move(facts));
        return ended;
    }

    counters::Workload& workload_;
    trace::Decoder& decoder_;
    const ModelledCpu& cpu_;
    const ModelOptions& options_;
    WindowSimulator simulator_;
    Child child_;
    std::vector<WindowFacts> windows_;
    Modelled modelled_;
};

}  // namespace

Result<Modelled> simulate_kernel(counters::Workload& workload, core::Core& core, trace::Decoder& decoder,
                                 const ModelledCpu& cpu, const ModelOptions& options) {
    return Simulation(workload, core, decoder, cpu, options).run();
}

}  // namespace tmaprobe::model
