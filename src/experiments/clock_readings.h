#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/source.h"
#include "experiments/calibrate.h"
#include "kernels/kernel.h"
#include "machine/host.h"
#include "record/calibration.h"
#include "timing/timing.h"

namespace tmaprobe::experiments {

/// A loop of this program as a source takes it.
class Loop final : public counters::Workload {
  public:
    explicit Loop(std::function<void(std::uint64_t)> run) : run_(std::move(run)) {}
    void run(std::uint64_t iterations) override { run_(iterations); }

  private:
    std::function<void(std::uint64_t)> run_;
};

/// Readings of one quantity, in its own unit.
struct Readings {
    std::vector<double> clean, disturbed;
};

/// From the time of one step, ns, and the core clock.
using Convert = double (*)(double step_ns, double clock_hz);
double cycles(double step_ns, double clock_hz);
double per_cycle(double step_ns, double clock_hz);
double nanoseconds(double step_ns, double clock_hz);
double per_second(double step_ns, double clock_hz);

/// Median and spread of the clean readings, or of all where too few are clean; with the reason where that is no figure.
record::CalibratedFact fact_of(const std::string& name, const std::string& unit, const Readings& readings);

/// `share` of what `less` is, taken off `more`, `times` over.
record::CalibratedFact difference(const std::string& name, const record::CalibratedFact& more,
                                  const record::CalibratedFact& less, double share, double times);

/// One more reading of what changes by the moment: the value is the median of the last five.
void add_reading(double reading, record::CalibratedFact& fact);

/// Times loops and kernels between looks at the CPU, and keeps what was found.
class ClockReader {
  public:
    ClockReader(const CalibrateRequest& request, const machine::Host& host);

    /// Readings of a step of the workload. Errors: interrupted; those of timing.
    Result<Readings> read(counters::Workload& workload, double steps, Convert convert);
    /// Time of one load of a chain through a block, or of so many chains side by side.
    Result<record::CalibratedFact> chase(const std::string& name, const char* order, std::uint64_t bytes,
                                         const memory::PageMode& pages, const char* unit = "cycles",
                                         Convert convert = cycles, int chains = 1);
    /// Time of a step of so many bytes of a block that is read in order.
    Result<record::CalibratedFact> stream(const std::string& name, std::uint64_t bytes, const memory::PageMode& pages,
                                          const char* unit, Convert convert, double bytes_per_step);
    const std::function<bool()>& interrupted() const { return request_.interrupted; }
    /// A fact that is above 0 is kept, another is named with the reason.
    void add(record::CalibratedFact fact);

    std::vector<record::CalibratedFact> facts;
    std::vector<std::string> left_out;
    std::vector<double> clock_hz;

  private:
    Result<record::CalibratedFact> time_kernel(const std::string& name, const char* kernel,
                                               const kernels::Parameters& parameters, const char* unit, Convert convert,
                                               double bytes_per_step);

    const CalibrateRequest& request_;
    const machine::Host& host_;
    timing::Bracket bracket_;
};

}  // namespace tmaprobe::experiments
