#pragma once

#include <optional>

#include "base/result.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "kernels/kernel.h"
#include "timing/effective_pages.h"

namespace tmaprobe::experiments {

/// One kernel with one set of parameters: what a Run of the record is about.
struct KernelRun {
    const kernels::KernelDescriptor* kernel = nullptr;
    kernels::Variant variant;
    bool runs_here = true;  ///< false: this CPU lacks the variant's instructions; only the model can step it
    kernels::Parameters parameters;
    std::optional<record::VariantChoice>
        variant_trial;           ///< see variant_trial.h; nothing: the variant was named, or the table chose it
    std::string why_these_cpus;  ///< one line, where they are not the usual choice; else empty
    std::optional<timing::EffectivePages> effective;  ///< of its page mode; empty: to be found out
};

/// The kernel, variant, CPUs and options that a request means; page mode and, for a sweep, size are still
/// to be filled in. CPUs that the request does not name are the quietest ones, by a look at each before anything runs.
/// Errors: bad_usage for what the kernel cannot take or a CPU that does not exist or is offline; unavailable for too
/// few CPUs; no_permission for one outside the cpuset.
Result<KernelRun> choose_kernel_run(const WorkloadRequest& request, const Setup& setup);

}  // namespace tmaprobe::experiments
