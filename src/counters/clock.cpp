#include <ctime>

#include "counters/source.h"
#include "process/held_command.h"

namespace tmaprobe::counters {
namespace {

/// Processor time of the calling thread; 0 where the kernel has no such clock.
std::uint64_t thread_ns() {
    timespec time{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

class ClockSource final : public CounterSource {
  public:
    SourceTraits traits() const override { return {}; }
    std::vector<PmuLimits> limits() const override { return {}; }
    Result<> prepare(const Plan&) override { return {}; }

    Result<Sample> measure(Workload& workload, Repetition repetition) override {
        Sample sample;
        sample.iterations = repetition.iterations;
        const auto argv = workload.command();
        if (!argv.empty()) return measure_command(argv, std::move(sample));
        workload.prepare();
        const std::uint64_t thread_start = thread_ns();
        const std::uint64_t start = process::now_ns();
        workload.run(repetition.iterations);
        sample.elapsed_ns = process::now_ns() - start;
        sample.thread_ns = thread_ns() - thread_start;
        return sample;
    }

    record::Source describe() const override { return {record::SourceKind::none, "", "time alone"}; }

  private:
    static Result<Sample> measure_command(const std::vector<std::string>& argv, Sample sample) {
        auto command = TRY(process::HeldCommand::start(argv));
        process::SignalWatch signals;
        const std::uint64_t start = process::now_ns();
        TRY(command.release());
        const auto outcome = wait_for(command, signals, {});
        sample.elapsed_ns = process::now_ns() - start;
        sample.exit_status = outcome.status;
        sample.interrupted = outcome.interrupted;
        if (outcome.interrupted) {
            sample.warnings.push_back({"interrupted", "stopped by a signal: this is what was measured until then", ""});
        }
        return sample;
    }
};

}  // namespace

std::unique_ptr<CounterSource> make_clock_source() { return std::make_unique<ClockSource>(); }

}  // namespace tmaprobe::counters
