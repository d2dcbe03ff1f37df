#include <time.h>

#include "counters/source.h"

namespace tmaprobe::counters {
namespace {

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

class ClockSource final : public CounterSource {
  public:
    Result<> prepare(const Plan&) override { return {}; }

    Result<Sample> measure(Workload& workload, Repetition repetition) override {
        Sample sample;
        sample.iterations = repetition.iterations;
        const std::uint64_t start = now_ns();
        workload.run(repetition.iterations);
        sample.elapsed_ns = now_ns() - start;
        return sample;
    }

    record::Source describe() const override { return {"none", "", "time alone"}; }
};

}  // namespace

std::unique_ptr<CounterSource> make_clock_source() { return std::make_unique<ClockSource>(); }

}  // namespace tmaprobe::counters
