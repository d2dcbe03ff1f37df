#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/region_entries.h"
#include "model/window_simulator.h"
#include "process/helper.h"
#include "record/sampling.h"
#include "trace/region_watch.h"
#include "trace/sampler.h"
#include "trace/tracer.h"

namespace tmaprobe::model {

/// What is a region of what is sampled.
struct WatchedRegions {
    const process::RegionPage* page = nullptr;  ///< null: nobody listens to marks
    std::vector<trace::RegionFunction> functions;

    bool any() const { return page || !functions.empty(); }
};

/// What the helper that samples processes has found; all of it goes through a pipe.
struct SampledWindows {
    record::Sampling sampling;
    std::vector<WindowFacts> facts;  ///< of the windows in `sampling`
    std::map<std::string, std::uint64_t> known_wrong;
    std::string why_missed;     ///< in words, of the last attempt that had more to say
    std::string error;          ///< of ours, the last
    std::string trace_problem;  ///< why no trace was saved
    std::uint64_t steps = 0, warmed = 0, undecodable = 0, in_software = 0, simulated = 0;
    std::uint64_t tasks = 0;  ///< threads that were seen
    double tracing_ns = 0, simulating_ns = 0;
    bool pages_partly_known = false, translated = false;
    std::vector<std::vector<std::uint32_t>> region_paths;  ///< by the keys of WindowFacts::regions
    std::vector<EntryWindow> entries;                      ///< windows of regions' entries
    std::optional<counters::CodeSamples> samples;          ///< where the processes were
    std::vector<trace::SeenEntries> seen_entries;          ///< of regions that were seen from begin to end
};

/// What is sampled, and how.
struct SamplingRequest {
    std::vector<pid_t> processes;  ///< with their descendants
    pid_t reaper = 0;              ///< as trace::take_snapshot()
    pid_t held_command = 0;        ///< followed from its exec on, if not 0: it has not been released yet
    trace::SamplingLimits limits;
    double shortest_budget_ns = 3e9;  ///< for simulation after the end, or as long as it ran
    WindowLog* log = nullptr;         ///< hears of what is simulated
    WatchedRegions regions;
};

/// In the helper: samples until the orders say that it is over, and simulates the copies. `ready` is called before the
/// first look.
SampledWindows sample_windows(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder,
                              const ModelledCpu& cpu, const ModelOptions& options, const process::HelperOrders& orders,
                              const std::function<void()>& ready);

struct WindowBeside;

std::string to_text(const SampledWindows& windows);
std::string to_text(const WindowBeside& window);
/// Errors: system when the text is none of to_text().
Result<SampledWindows> from_text(const std::string& text);
Result<WindowBeside> window_from_text(const std::string& text);

}  // namespace tmaprobe::model
