#include "experiments/calibration_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <system_error>

#include "base/file.h"
#include "record/json/calibration.h"

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return cache;
    const char* const home = std::getenv("HOME");
    return home && *home == '/' ? fs::path(home) / ".cache" : fs::path();
}

/// A file name for anything that a CPU calls itself.
std::string file_name(const std::string& text) {
    std::string name;
    for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) || c == '-' ? c : '_';
    return name;
}

Result<record::Calibration> read_calibration(const fs::path& path, const machine::Host& host) {
    const auto text = TRY(read_file(path));
    auto calibration = TRY(record::parse_calibration(text, path.string()));
    if (calibration.cpu_id != host.cpu_id || calibration.cpu_model != host.cpu_model)
        return fail(ErrorCode::bad_input,
                    fmt::format("{}: it is of {} ({}), and this is {} ({})", path.string(), calibration.cpu_model,
                                calibration.cpu_id, host.cpu_model, host.cpu_id),
                    "tmaprobe calibrate measures this CPU; --no-calibration goes without");
    return calibration;
}

}  // namespace

fs::path calibration_path(const machine::Host& host, const std::string& what) {
    const fs::path folder = cache_folder();
    return folder.empty()
               ? folder
               : folder / "tmaprobe" / (what + "-" + file_name(host.cpu_id + "-" + host.cpu_model) + ".json");
}

std::string measured_text(std::chrono::system_clock::time_point at) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

record::Calibration started_calibration(const machine::Host& host) {
    record::Calibration calibration;
    calibration.schema = record::calibration_schema;
    calibration.tool_version = TMAPROBE_VERSION;
    calibration.cpu_id = host.cpu_id;
    calibration.cpu_model = host.cpu_model;
    calibration.measured = measured_text(std::chrono::system_clock::now());
    return calibration;
}

Result<> write_calibration(const record::Calibration& calibration, const fs::path& path) {
    std::error_code error;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
    if (error)
        return fail(ErrorCode::system, fmt::format("cannot make {}: {}", path.parent_path().string(), error.message()));
    return write_file(path, record::serialize(calibration));
}

Result<FoundCalibration> find_calibration(const CalibrationChoice& choice, const machine::Host& host) {
    if (!choice.use) return FoundCalibration{};
    if (!choice.file.empty()) return FoundCalibration{TRY(read_calibration(choice.file, host)), std::nullopt};
    const fs::path path = calibration_path(host);
    std::error_code error;
    if (path.empty() || !fs::exists(path, error)) return FoundCalibration{};
    auto read = read_calibration(path, host);
    if (read) return FoundCalibration{std::move(*read), std::nullopt};
    return FoundCalibration{
        std::nullopt,
        record::Warning{"calibration_unusable", "the calibration of this CPU is not used: " + read.error().what,
                        "tmaprobe calibrate writes a new one"}};
}

}  // namespace tmaprobe::experiments
