#include "counters/resctrl/info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/file.h"

namespace tmaprobe::counters::resctrl {
namespace {

namespace fs = std::filesystem;

int number_in(const fs::path& path, int otherwise) {
    const std::string line = read_line(path);
    int value = otherwise;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
}

std::uint64_t mask_in(const fs::path& path) {
    const std::string line = read_line(path);
    std::uint64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value, 16);
    return value;
}

/// Whether the processor has it at all, by the kernel's own words.
bool cpu_has_resctrl() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);) {
        if (!line.starts_with("flags")) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;)
            if (word == "cat_l3" || word == "mba" || word == "cqm_llc" || word == "cqm_mbm_total") return true;
        return false;
    }
    return false;
}

bool kernel_has_resctrl() {
    std::ifstream known("/proc/filesystems");
    for (std::string line; std::getline(known, line);)
        if (line.find("resctrl") != std::string::npos) return true;
    return false;
}

tl::unexpected<Error> not_there(const fs::path& root) {
    if (root == usual_root && !kernel_has_resctrl())
        return fail(ErrorCode::unavailable,
                    cpu_has_resctrl() ? "this kernel was built without resctrl"
                                      : "this CPU has no cache or bandwidth control (or a hypervisor hides it)",
                    "Intel RDT, AMD QoS or Arm MPAM, and a kernel with CONFIG_X86_CPU_RESCTRL or "
                    "CONFIG_ARM64_MPAM, are needed");
    return fail(ErrorCode::unavailable, fmt::format("resctrl is not mounted at {}", root.string()),
                fmt::format("sudo mount -t resctrl resctrl {}", root.string()));
}

CacheControl read_cache(const fs::path& folder) {
    CacheControl cache;
    cache.name = folder.filename();
    cache.mask = mask_in(folder / "cbm_mask");
    cache.least_bits = number_in(folder / "min_cbm_bits", 1);
    cache.sparse = number_in(folder / "sparse_masks", 0) == 1;
    cache.groups = number_in(folder / "num_closids", 0);
    return cache;
}

/// Value of the first domain in the default group's line of a control: "MB:0=2048;1=2048" -> 2048.
std::uint64_t default_value(const std::string& schemata, const std::string& control) {
    std::istringstream lines(schemata);
    for (std::string line; std::getline(lines, line);) {
        line.erase(0, line.find_first_not_of(" \t"));
        const auto equals = line.find('=');
        if (!line.starts_with(control + ":") || equals == std::string::npos) continue;
        std::uint64_t value = 0;
        const auto digits = line.find_first_not_of(' ', equals + 1);
        if (digits != std::string::npos) std::from_chars(line.data() + digits, line.data() + line.size(), value);
        return value;
    }
    return 0;
}

bool contiguous(std::uint64_t mask) {
    const std::uint64_t low = mask >> std::countr_zero(mask);
    return (low & (low + 1)) == 0;
}

Result<> check_mask(const CacheControl& cache, std::uint64_t mask) {
    const std::string takes = fmt::format("{} takes bits of {:#x}, at least {}{}", cache.name, cache.mask,
                                          cache.least_bits, cache.sparse ? "" : ", side by side");
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::bad_usage, fmt::format("{}={:#x}: {}", cache.name, mask, why), takes);
    };
    if (mask == 0) return refuse("an empty bitmap gives no cache at all");
    if (mask & ~cache.mask) return refuse("bits that the hardware does not have");
    if (std::popcount(mask) < cache.least_bits) return refuse("too few bits");
    if (!cache.sparse && !contiguous(mask)) return refuse("the bits have holes between them");
    return {};
}

Result<> check_bandwidth(const BandwidthControl& control, int value) {
    const std::string unit = control.percent ? "percent" : "units of this hardware (MBps, or eighths of GB/s on AMD)";
    if (value >= std::max(1, control.least) && value <= control.most) return {};
    return fail(ErrorCode::bad_usage, fmt::format("mb={} is out of range", value),
                fmt::format("it takes {} to {} {}, in steps of {}", std::max(1, control.least), control.most, unit,
                            control.step));
}

/// "L3:0=3;1=3" for every domain that the default group names.
std::string line_for_all_domains(const std::string& default_line, const std::string& value) {
    std::string line = default_line.substr(0, default_line.find(':') + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    std::istringstream domains(default_line.substr(default_line.find(':') + 1));
    bool first = true;
    for (std::string domain; std::getline(domains, domain, ';'); first = false)
        line += fmt::format("{}{}={}", first ? "" : ";", domain.substr(0, domain.find('=')), value);
    return line + "\n";
}

}  // namespace

Result<Info> read_info(const fs::path& root) {
    std::error_code ignored;
    if (!fs::is_directory(root / "info", ignored)) return not_there(root);
    if (::access((root / "schemata").c_str(), W_OK) != 0)
        return fail(ErrorCode::no_permission, fmt::format("{} may not be written", root.string()), "run it as root");

    Info info;
    info.root = root;
    info.default_schemata = TRY(read_file(root / "schemata"));
    for (const auto& entry : fs::directory_iterator(root / "info", ignored)) {
        if (fs::exists(entry.path() / "cbm_mask", ignored)) info.caches.push_back(read_cache(entry.path()));
        if (fs::exists(entry.path() / "mon_features", ignored)) {
            std::ifstream features(entry.path() / "mon_features");
            for (std::string feature; features >> feature;)
                if (feature.find("_config") == std::string::npos) info.monitors.push_back(feature);
        }
    }
    std::sort(info.caches.begin(), info.caches.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    info.code_data = std::any_of(info.caches.begin(), info.caches.end(),
                                 [](const auto& cache) { return cache.name.ends_with("CODE"); });
    if (fs::is_directory(root / "info" / "MB", ignored)) {
        BandwidthControl control;
        control.least = number_in(root / "info" / "MB" / "min_bandwidth", 0);
        control.step = std::max(1, number_in(root / "info" / "MB" / "bandwidth_gran", 1));
        control.groups = number_in(root / "info" / "MB" / "num_closids", 0);
        // Somebody may have limited the default group: what it has now is not the most that there is.
        const std::uint64_t now = default_value(info.default_schemata, "MB");
        constexpr std::uint64_t no_cap = 1 << 30;  // with mba_MBps the kernel writes 4294967295 for it
        constexpr std::uint64_t amd_most = 2048;   // the least that AMD's processors have
        const bool linear = number_in(root / "info" / "MB" / "delay_linear", now <= 100 ? 1 : 0) == 1;  // all but AMD
        control.percent = linear && now <= 100;
        control.unlimited = now >= no_cap;
        control.most = control.percent ? 100 : static_cast<int>(control.unlimited ? no_cap : std::max(now, amd_most));
        info.bandwidth = control;
    }
    return info;
}

Result<Limit> parse_limit(const std::string& text) {
    const auto wrong = [&](const std::string& word) {
        return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a limit", word), "write for example l3=0x3,mb=20");
    };
    if (text.ends_with(",")) return wrong(text);
    Limit limit;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) return wrong(word);
        const std::string name = word.substr(0, equals);
        std::string value = word.substr(equals + 1);
        const bool hexadecimal = name == "l3" || name == "L3";
        if (hexadecimal && (value.starts_with("0x") || value.starts_with("0X"))) value.erase(0, 2);
        std::uint64_t number = 0;
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, number, hexadecimal ? 16 : 10);
        if (value.empty() || stop != end || error != std::errc{}) return wrong(word);
        if (number == 0)
            return fail(ErrorCode::bad_usage, fmt::format("'{}': nothing at all cannot be given", word),
                        "a bitmap needs a bit, a bandwidth at least 1");
        if (hexadecimal ? limit.cache_mask.has_value() : limit.bandwidth.has_value())
            return fail(ErrorCode::bad_usage, fmt::format("'{}': said twice", word),
                        "one bitmap and one bandwidth for every domain");
        if (hexadecimal)
            limit.cache_mask = number;
        else if (name == "mb" || name == "MB")
            limit.bandwidth = static_cast<int>(std::min<std::uint64_t>(number, 1 << 30));
        else
            return wrong(word);
    }
    if (!limit.cache_mask && !limit.bandwidth) return wrong(text);
    return limit;
}

int bandwidth_given(const BandwidthControl& control, int asked) {
    if (control.unlimited) return asked;  // megabytes per second are held by measuring, not by steps
    return std::min((asked + control.step - 1) / control.step * control.step, std::max(asked, control.most));
}

Result<std::string> schemata_for(const Info& info, const Limit& limit) {
    std::string text;
    bool cache_done = false;
    std::istringstream lines(info.default_schemata);
    for (std::string line; std::getline(lines, line);) {
        std::string name = line.substr(0, line.find(':'));
        name.erase(0, name.find_first_not_of(" \t"));
        const auto cache =
            std::find_if(info.caches.begin(), info.caches.end(), [&](const auto& known) { return known.name == name; });
        if (limit.cache_mask && name.starts_with("L3") && cache != info.caches.end()) {
            TRY(check_mask(*cache, *limit.cache_mask));
            text += line_for_all_domains(line, fmt::format("{:x}", *limit.cache_mask));
            cache_done = true;
        }
        if (limit.bandwidth && name == "MB" && info.bandwidth) {
            TRY(check_bandwidth(*info.bandwidth, *limit.bandwidth));
            text += line_for_all_domains(line, fmt::format("{}", *limit.bandwidth));
        }
    }
    if (limit.cache_mask && !cache_done)
        return fail(ErrorCode::unavailable, "this hardware cannot partition its L3", "leave l3= out of --limit");
    if (limit.bandwidth && !info.bandwidth)
        return fail(ErrorCode::unavailable, "this hardware cannot limit memory bandwidth", "leave mb= out of --limit");
    return text;
}

}  // namespace tmaprobe::counters::resctrl
