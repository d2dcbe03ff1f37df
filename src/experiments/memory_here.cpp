#include "experiments/memory_here.h"

#include <sched.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/statistics.h"
#include "experiments/calibrate_memory.h"
#include "experiments/calibration_file.h"
#include "machine/topology.h"
#include "model/calibrated_cpu.h"

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

/// Neighbours come and go: what was found is not kept for longer.
constexpr auto kept_for = std::chrono::hours(1);

MemoryHere of(const record::Calibration& found) {
    const auto* const walk = record::usable_fact(found.facts, "translation.large_page_walk");
    return {model::third_level_found(found.facts), walk ? walk->value : 0};
}

std::optional<record::Calibration> found_lately(const fs::path& path, const machine::Host& host) {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    const auto age = fs::file_time_type::clock::now() - written;
    if (error || age > kept_for || age < age.zero()) return std::nullopt;
    const auto read = find_calibration({true, path.string()}, host);
    return read ? read->calibration : std::nullopt;
}

/// The thread keeps its CPU, and what the caller starts later may have any. Errors: as memory_facts_here().
Result<record::Calibration> measured(const machine::Host& host, const std::function<bool()>& interrupted) {
    Result<record::Calibration> calibration = started_calibration(host);
    std::thread([&] {
        CalibrateRequest request;
        request.interrupted = interrupted;
        ClockReader reader(request, host);
        const auto pinned = machine::pin_this_thread(::sched_getcpu());
        auto found = pinned ? memory_facts_here(reader, host) : pass_on(pinned);
        if (!found)
            calibration = pass_on(found);
        else
            calibration->facts = std::move(*found);
        if (calibration) calibration->clock_hz = reader.clock_hz.empty() ? 0 : median(reader.clock_hz);
    }).join();
    return calibration;
}

}  // namespace

MemoryHere memory_here(const machine::Host& host, const std::function<bool()>& interrupted) {
    const fs::path path = calibration_path(host, "memory");
    if (const auto lately = path.empty() ? std::nullopt : found_lately(path, host)) return of(*lately);
    const auto found = measured(host, interrupted);
    if (!found) return {};
    // Where it cannot be kept, it is measured again.
    if (!path.empty() && found->clock_hz > 0) static_cast<void>(write_calibration(*found, path));
    return of(*found);
}

}  // namespace tmaprobe::experiments
