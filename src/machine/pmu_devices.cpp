#include "machine/pmu_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "machine/sysfs.h"

namespace tmaprobe::machine {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint32_t> read_number(const fs::path& path) {
    const std::string text = read_line(path);
    std::uint32_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{}) return std::nullopt;
    return value;
}

/// Core PMUs are x86's "cpu" and, on hybrids and Arm, those that name their CPUs in `cpus`; uncore and
/// other devices have `cpumask` instead.
bool is_core_pmu(const fs::path& device) {
    std::error_code ignored;
    return device.filename() == "cpu" || fs::exists(device / "cpus", ignored);
}

}  // namespace

std::vector<Pmu> core_pmus(const fs::path& root) {
    std::vector<Pmu> found;
    std::error_code error;
    for (const auto& device : fs::directory_iterator(root, error)) {
        if (!is_core_pmu(device.path())) continue;
        const auto type = read_number(device.path() / "type");
        if (!type) continue;
        Pmu pmu;
        pmu.name = device.path().filename();
        pmu.type = *type;
        pmu.cpus = parse_cpu_list(read_line(device.path() / "cpus"));
        std::error_code ignored;
        pmu.has_slots = fs::exists(device.path() / "events/slots", ignored) &&
                        fs::exists(device.path() / "events/topdown-fe-bound", ignored);
        pmu.has_level2_metrics = pmu.has_slots && fs::exists(device.path() / "events/topdown-heavy-ops", ignored);
        if (const auto rdpmc = read_number(device.path() / "rdpmc")) pmu.rdpmc = static_cast<int>(*rdpmc);
        if (const auto interval = read_number(device.path() / "perf_event_mux_interval_ms"))
            pmu.mux_interval_ms = *interval;
        found.push_back(std::move(pmu));
    }
    std::sort(found.begin(), found.end(), [](const Pmu& a, const Pmu& b) { return a.name < b.name; });
    return found;
}

std::optional<std::uint32_t> pmu_type(const std::string& name, const fs::path& root) {
    if (!name.empty()) return read_number(root / name / "type");
    const auto pmus = core_pmus(root);
    if (pmus.empty()) return std::nullopt;
    return pmus.front().type;
}

bool is_common_arm_event(std::uint64_t config) {
    constexpr std::uint64_t each = 0x40, extended = 0x4000;
    return config < each || (config >= extended && config < extended + each);
}

std::set<std::uint64_t> listed_common_events(const Pmu& pmu, const fs::path& root) {
    const fs::path folder = root / pmu.name / "events";
    std::error_code error;
    if (!fs::exists(folder / "cpu_cycles", error)) return {};  // Arm's name for them
    std::set<std::uint64_t> listed;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        constexpr std::string_view key = "event=";
        const std::string text = read_line(entry.path());
        if (!text.starts_with(key)) continue;
        const std::uint64_t config = std::strtoull(text.c_str() + key.size(), nullptr, 0);
        if (is_common_arm_event(config)) listed.insert(config);
    }
    return listed;
}

}  // namespace tmaprobe::machine
