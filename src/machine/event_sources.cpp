#include "machine/event_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/file.h"
#include "base/suggest.h"
#include "machine/sysfs.h"

namespace tmaprobe::machine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

/// "uncore_imc_0" is an "imc" and an "uncore_imc", as in perf.
bool is_one_of(std::string_view pmu, std::string_view name) {
    const auto without_number = [](std::string_view text) {
        const std::size_t last = text.find_last_not_of("0123456789");
        return last != text.npos && last + 1 < text.size() && text[last] == '_' ? text.substr(0, last) : text;
    };
    constexpr std::string_view uncore = "uncore_";
    for (const std::string_view candidate : {pmu, without_number(pmu)}) {
        if (candidate == name) return true;
        if (candidate.starts_with(uncore) && candidate.substr(uncore.size()) == name) return true;
    }
    return false;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

std::uint64_t* word_named(std::string_view name, SourcedEvent& event) {
    if (name == "config") return &event.config;
    if (name == "config1") return &event.config1;
    return name == "config2" ? &event.config2 : nullptr;
}

/// Puts a value into the bits that a format file gives it, "config:0-7,32-35", low bits first. False: it is too large,
/// or the file is not understood.
bool put_bits(const std::string& format, std::uint64_t value, SourcedEvent& event) {
    const std::size_t colon = format.find(':');
    std::uint64_t* word = word_named(format.substr(0, colon), event);
    if (!word || colon == format.npos) return false;
    for (const std::string& range : split(format.substr(colon + 1), ',')) {
        const std::size_t dash = range.find('-');
        const auto first = number_of(range.substr(0, dash));
        const auto last = dash == range.npos ? first : number_of(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last > 63) return false;
        const std::uint64_t count = *last - *first + 1;
        const std::uint64_t mask = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
        *word = (*word & ~(mask << *first)) | (value & mask) << *first;
        value = count == 64 ? 0 : value >> count;
    }
    return value == 0;
}

tl::unexpected<Error> no_term(const std::string& pmu, const std::string& term, const fs::path& folder) {
    auto names = names_in(folder / "events");
    std::erase_if(names, [](const std::string& name) { return name.find('.') != name.npos; });
    const auto fields = names_in(folder / "format");
    names.insert(names.end(), fields.begin(), fields.end());
    std::string hint = suggest(term, names);
    if (hint.empty()) hint = fmt::format("it has {}", fmt::join(names, ", "));
    return fail(ErrorCode::bad_usage, fmt::format("the PMU {} has no event and no field '{}'", pmu, term), hint);
}

/// One "field=value", or a field alone for 1.
Result<> set_term(const std::string& term, const fs::path& folder, SourcedEvent& event) {
    const std::size_t equals = term.find('=');
    const std::string key = term.substr(0, equals);
    const auto value = equals == term.npos ? std::optional<std::uint64_t>(1) : number_of(term.substr(equals + 1));
    if (!value) return fail(ErrorCode::bad_usage, fmt::format("'{}' has no number of at most 64 bits", term));
    if (std::uint64_t* word = word_named(key, event)) {
        *word = *value;
        return {};
    }
    if (key == "name") return {};  // of the output's, in perf
    const std::string format = key.find('/') == key.npos ? read_line(folder / "format" / key) : std::string();
    if (format.empty()) return no_term(event.pmu, key, folder);
    if (!put_bits(format, *value, event))
        return fail(ErrorCode::bad_usage, fmt::format("'{}' does not fit into the field ({})", term, format));
    return {};
}

}  // namespace

std::vector<int> system_wide_cpus(const std::string& pmu, const fs::path& root) {
    if (pmu.empty() || pmu.find('/') != pmu.npos) return {};
    return parse_cpu_list(read_line(root / pmu / "cpumask"));
}

std::vector<std::string> pmus_named(const std::string& name, const fs::path& root) {
    std::vector<std::string> found;
    for (const std::string& pmu : names_in(root)) {
        std::error_code ignored;
        if (!is_one_of(pmu, name) || pmu == "cpu" || fs::exists(root / pmu / "cpus", ignored)) continue;
        if (pmu == name) return {pmu};
        found.push_back(pmu);
    }
    return found;
}

Result<SourcedEvent> sourced_event(const std::string& pmu, const std::vector<std::string>& terms,
                                   const fs::path& root) {
    const fs::path folder = root / pmu;
    SourcedEvent event;
    event.pmu = pmu;
    for (const std::string& term : terms) {
        const std::string known = term.find_first_of("=/") == term.npos && !term.empty()
                                      ? read_line(folder / "events" / term)
                                      : std::string();
        if (known.empty()) {
            TRY(set_term(term, folder, event));
            continue;
        }
        for (const std::string& part : split(known, ',')) TRY(set_term(part, folder, event));
        event.term = term;
        event.unit = read_line(folder / "events" / (term + ".unit"));
        if (const std::string scale = read_line(folder / "events" / (term + ".scale")); !scale.empty())
            event.scale = std::strtod(scale.c_str(), nullptr);
    }
    return event;
}

Result<std::uint64_t> tracepoint_id(const std::string& system, const std::string& name,
                                    const std::vector<fs::path>& roots) {
    const std::string full = system + ":" + name;
    for (const fs::path& root : roots) {
        std::error_code error;
        if (!fs::is_directory(root, error)) continue;
        const fs::path file = root / system / name / "id";
        if (const auto number = number_of(read_line(file))) return *number;
        if (::access(file.c_str(), R_OK) != 0 && errno == EACCES)
            return fail(ErrorCode::no_permission, "tracepoint " + full + ": " + file.string() + " may not be read",
                        "root may; sudo mount -o remount,mode=755 " + root.parent_path().string() + " lets others");
        const auto names = names_in(root / system);
        if (names.empty())
            return fail(ErrorCode::bad_usage, "the kernel has no tracepoints of '" + system + "' (" + full + ")",
                        suggest(system, names_in(root)));
        return fail(ErrorCode::bad_usage, "the kernel has no tracepoint " + full, suggest(name, names));
    }
    return fail(ErrorCode::unavailable, "tracepoint " + full + ": the kernel's list of tracepoints is not there",
                "as root: mount -t tracefs nodev /sys/kernel/tracing (a kernel without CONFIG_FTRACE has none)");
}

std::optional<std::uint64_t> cache_event(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, int>, 7> caches{{{"L1-dcache", PERF_COUNT_HW_CACHE_L1D},
                                                                      {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
                                                                      {"LLC", PERF_COUNT_HW_CACHE_LL},
                                                                      {"dTLB", PERF_COUNT_HW_CACHE_DTLB},
                                                                      {"iTLB", PERF_COUNT_HW_CACHE_ITLB},
                                                                      {"branch", PERF_COUNT_HW_CACHE_BPU},
                                                                      {"node", PERF_COUNT_HW_CACHE_NODE}}};
    constexpr std::array<std::pair<std::string_view, int>, 6> operations{
        {{"-loads", PERF_COUNT_HW_CACHE_OP_READ},
         {"-load", PERF_COUNT_HW_CACHE_OP_READ},
         {"-stores", PERF_COUNT_HW_CACHE_OP_WRITE},
         {"-store", PERF_COUNT_HW_CACHE_OP_WRITE},
         {"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH},
         {"-prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH}}};
    for (const auto& [cache, number] : caches) {
        if (!name.starts_with(cache)) continue;
        const std::string_view rest = name.substr(cache.size());
        for (const auto& [words, operation] : operations) {
            const bool misses = rest == std::string(words) + "-misses";
            if (rest != words && !misses) continue;
            if (words.ends_with('s') == misses) continue;  // "-load-misses", but "-loads"
            const int result = misses ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
            return static_cast<std::uint64_t>(number | operation << 8 | result << 16);
        }
    }
    return std::nullopt;
}

}  // namespace tmaprobe::machine
