#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/result.h"
#include "experiments/effective_pages.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "kernels/kernel.h"

namespace tmaprobe::experiments {

/// One kernel with one set of parameters: what a Run of the record is about.
struct Point {
    const kernels::Descriptor* kernel = nullptr;
    kernels::Variant variant;
    bool runs_here = true;  ///< false: this CPU lacks the variant's instructions; only the model can step it
    kernels::Parameters parameters;
    nlohmann::json variant_trial;  ///< see variant_trial.h; null: the variant was named, or the table chose it
    std::string why_these_cpus;  ///< one line, where they are not the usual choice; else empty
    std::optional<EffectivePages> effective;  ///< of its page mode; empty: to be found out
};

/// The kernel, variant, CPUs and options that a request means; page mode and, for a sweep, size are still
/// to be filled in. CPUs that the request does not name are the quietest ones, by a look at each before anything runs. Errors: bad_usage for what the kernel cannot take or a CPU that does not exist or is
/// offline; unavailable for too few CPUs; no_permission for one outside the cpuset.
Result<Point> choose_point(const RunRequest& request, const Setup& setup);

}  // namespace tmaprobe::experiments
