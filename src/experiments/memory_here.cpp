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
/// What others fill of a cache is not read again before.
constexpr auto read_lately = std::chrono::seconds(10);

MemoryHere of(const record::Calibration& found) {
    const auto* const walk = record::usable_fact(found.facts, "translation.large_page_walk");
    return {model::third_level_found(found.facts), walk ? walk->value : 0};
}

/// What is kept, if it was measured within the hour.
std::optional<record::Calibration> kept(const fs::path& path, const machine::Host& host) {
    std::error_code error;
    if (path.empty() || !fs::exists(path, error)) return std::nullopt;
    auto read = find_calibration({true, path.string()}, host);
    if (!read || !read->calibration) return std::nullopt;
    const auto now = std::chrono::system_clock::now();
    const std::string& measured = read->calibration->measured;
    const bool is_of_this_hour = measured_text(now - kept_for) < measured && measured <= measured_text(now);
    return is_of_this_hour ? std::move(read->calibration) : std::nullopt;
}

bool was_written_lately(const fs::path& path) {
    std::error_code error;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, error);
    return !error && age < read_lately && age >= age.zero();
}

/// On a thread of its own, which keeps its CPU: what the caller starts later may have any.
Result<> on_one_cpu(const std::function<Result<>()>& measure) {
    Result<> done;
    std::thread([&] {
        done = machine::pin_this_thread(::sched_getcpu());
        if (done) done = measure();
    }).join();
    return done;
}

/// Errors: as memory_facts_here().
Result<record::Calibration> measured(const machine::Host& host, const std::function<bool()>& interrupted) {
    record::Calibration calibration = started_calibration(host);
    const auto done = on_one_cpu([&]() -> Result<> {
        CalibrateRequest request;
        request.interrupted = interrupted;
        ClockReader reader(request, host);
        calibration.facts = TRY(memory_facts_here(reader, host));
        calibration.clock_hz = reader.clock_hz.empty() ? 0 : median(reader.clock_hz);
        return {};
    });
    return done ? Result<record::Calibration>(std::move(calibration)) : pass_on(done);
}

/// Whether anything was read.
Result<bool> read_again(const machine::Host& host, const std::function<bool()>& interrupted,
                        record::Calibration& calibration) {
    bool was_read = false;
    const auto done = on_one_cpu([&]() -> Result<> {
        was_read = TRY(read_others_again(host, interrupted, calibration.facts));
        return {};
    });
    return done ? Result<bool>(was_read) : pass_on(done);
}

}  // namespace

MemoryHere memory_here(const machine::Host& host, const std::function<bool()>& interrupted) {
    const fs::path path = calibration_path(host, "memory");
    std::optional<record::Calibration> found = kept(path, host);
    bool is_new = false;
    if (!found) {
        auto all = measured(host, interrupted);
        if (!all) return {};
        is_new = all->clock_hz > 0;
        found = std::move(*all);
    } else if (!was_written_lately(path)) {
        // What cannot be read is as it was.
        is_new = read_again(host, interrupted, *found).value_or(false);
    }
    // Where it cannot be kept, it is measured again.
    if (is_new && !path.empty()) static_cast<void>(write_calibration(*found, path));
    return of(*found);
}

}  // namespace tmaprobe::experiments
