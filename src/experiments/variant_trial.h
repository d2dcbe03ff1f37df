#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/kernel_run.h"
#include "experiments/run.h"
#include "experiments/setup.h"

namespace tmaprobe::experiments {

/// Times that one variant took for slices of the same size, in the trial's order.
struct VariantTimes {
    std::string variant;
    std::vector<double> ns;  ///< of each slice
};

/// The fastest one, if it is beyond the noise (ranks, 95%) and by at least 2% faster than the first; else the first,
/// which is what would be taken without a trial.
std::string fastest_variant(const std::vector<VariantTimes>& times);

/// Whether a block of this size lies beyond the part of the last-level cache that these CPUs have to themselves, if all
/// that share it use it alike. False where no cache is known.
bool beyond_last_level(const machine::Host& host, std::uint64_t size_bytes, std::size_t cpus);

/// In memory the widest vectors are not always the fastest. Where the user names no variant, the kernel can be tried,
/// its block lies beyond the last-level cache, and the CPU's table does not say: times the variants in turns over
/// slices of one block in the request's first page mode, a few tens of milliseconds, and puts the fastest into the
/// point with the figures in `variant_trial`. A trial that cannot be made leaves the point as it is, and the reason
/// there. Errors: those of binding to the CPU.
Result<> choose_by_trial(const WorkloadRequest& request, const Setup& setup, KernelRun& point);

}  // namespace tmaprobe::experiments
