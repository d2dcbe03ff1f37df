#include "memory/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "base/file.h"
#include "base/sizes.h"

namespace tmaprobe::memory {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Sum of the named "Key: n kB" lines of a meminfo file in bytes; empty when none is there.
std::optional<std::uint64_t> meminfo_bytes(const std::filesystem::path& path,
                                           std::initializer_list<std::string_view> keys) {
    std::ifstream file(path);
    std::optional<std::uint64_t> sum;
    for (std::string line; std::getline(file, line);) {
        for (const std::string_view key : keys) {
            const auto at = line.find(fmt::format("{}:", key));
            if (at == std::string::npos || (at != 0 && line[at - 1] != ' ')) continue;
            const auto digits = line.find_first_of("0123456789", at + key.size());
            if (digits == std::string::npos) continue;
            sum = sum.value_or(0) + (number(std::string_view(line).substr(digits)).value_or(0) << 10);
        }
    }
    return sum;
}

void take_least(std::optional<Available>& least, std::uint64_t bytes, std::string what) {
    if (!least || bytes < least->bytes) least = Available{bytes, std::move(what)};
}

/// What a control group and those above it leave: limit minus use, where there is a limit.
void control_group(std::optional<Available>& least, const std::filesystem::path& mount, std::string group,
                   const char* limit_file, const char* use_file) {
    // A limit as large as this is how version 1 spells "none".
    constexpr std::uint64_t none = std::uint64_t{1} << 60;
    for (;;) {
        const std::filesystem::path folder = mount / std::filesystem::path(group).relative_path();
        const auto limit = number(read_line(folder / limit_file));
        const auto use = number(read_line(folder / use_file));
        if (limit && use && *limit < none)
            take_least(least, *limit - std::min(*limit, *use), fmt::format("the control group {} allows", group));
        if (group.empty() || group == "/") return;
        group = std::filesystem::path(group).parent_path();
    }
}

void control_groups(std::optional<Available>& least, const SystemFiles& files) {
    std::ifstream file(files.proc / "self/cgroup");
    for (std::string line; std::getline(file, line);) {  // hierarchy:controllers:path
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (controllers.empty())
            control_group(least, files.sys / "fs/cgroup", group, "memory.max", "memory.current");
        else if (fmt::format(",{},", controllers).find(",memory,") != std::string::npos)
            control_group(least, files.sys / "fs/cgroup/memory", group, "memory.limit_in_bytes",
                          "memory.usage_in_bytes");
    }
}

/// Bytes in use by the key of /proc/self/status ("VmSize", "VmData").
std::uint64_t status_bytes(const SystemFiles& files, std::string_view key) {
    return meminfo_bytes(files.proc / "self/status", {key}).value_or(0);
}

void resource_limits(std::optional<Available>& least, const SystemFiles& files) {
    const struct {
        __rlimit_resource limit;
        std::string_view in_use;
        const char* what;
    } limits[] = {{RLIMIT_AS, "VmSize", "the limit on address space (ulimit -v) leaves"},
                  {RLIMIT_DATA, "VmData", "the limit on data (ulimit -d) leaves"}};
    for (const auto& entry : limits) {
        rlimit value{};
        if (::getrlimit(entry.limit, &value) != 0 || value.rlim_cur == RLIM_INFINITY) continue;
        const std::uint64_t use = status_bytes(files, entry.in_use);
        take_least(least, value.rlim_cur - std::min<std::uint64_t>(value.rlim_cur, use), entry.what);
    }
}

std::filesystem::path node_folder(const SystemFiles& files, int node) {
    return files.sys / fmt::format("devices/system/node/node{}", node);
}

}  // namespace

std::optional<Available> available_memory(const SystemFiles& files, std::optional<int> numa_node) {
    std::optional<Available> least;
    if (const auto bytes = meminfo_bytes(files.proc / "meminfo", {"MemAvailable"}))
        take_least(least, *bytes, "memory available");
    if (numa_node) {
        const auto bytes =
            meminfo_bytes(node_folder(files, *numa_node) / "meminfo", {"MemFree", "Active(file)", "Inactive(file)"});
        if (bytes) take_least(least, *bytes, fmt::format("memory available on NUMA node {}", *numa_node));
    }
    control_groups(least, files);
    resource_limits(least, files);
    return least;
}

Result<> check_memory(std::uint64_t bytes, const SystemFiles& files, std::optional<int> numa_node) {
    const std::optional<Available> available = available_memory(files, numa_node);
    if (!available) return {};
    // Page tables (8 bytes a page, at most one part in 512) and room for everybody else to breathe.
    constexpr std::uint64_t reserve = std::uint64_t{64} << 20;
    const std::uint64_t needed = bytes + bytes / 512 + (bytes > reserve ? reserve : 0);
    if (needed >= bytes && needed <= available->bytes) return {};
    const auto mebibytes = [](std::uint64_t n) { return fmt::format("{:.0f} MiB", double(n) / (1 << 20)); };
    return fail(
        ErrorCode::unavailable,
        fmt::format("{} of memory do not fit: {} {}", mebibytes(bytes), available->what, mebibytes(available->bytes)),
        fmt::format("choose a smaller --size, at most about {:.0f}M",
                    double(available->bytes - std::min(available->bytes, reserve)) / (1 << 20)));
}

std::filesystem::path huge_page_pool(const PageMode& mode, const SystemFiles& files, std::optional<int> numa_node) {
    const std::string pool = fmt::format("hugepages-{}kB", mode.page_bytes >> 10);
    return numa_node ? node_folder(files, *numa_node) / "hugepages" / pool : files.sys / "kernel/mm/hugepages" / pool;
}

std::uint64_t free_huge_pages(const PageMode& mode, const SystemFiles& files, std::optional<int> numa_node) {
    const std::filesystem::path folder = huge_page_pool(mode, files, numa_node);
    const auto count = [&](const char* name) { return number(read_line(folder / name)).value_or(0); };
    const std::uint64_t in_pool = count("free_hugepages");
    // Reserved: promised to mappings that have not touched them yet. Only the whole machine's pool tells.
    return in_pool - std::min(in_pool, count("resv_hugepages"));
}

bool transparent_pages_allowed(const SystemFiles& files) {
    return read_line(files.sys / "kernel/mm/transparent_hugepage/enabled").find("[never]") == std::string::npos;
}

Result<> check_transparent_pages(const SystemFiles& files) {
    if (transparent_pages_allowed(files)) return {};
    return fail(ErrorCode::unavailable, "transparent huge pages are switched off",
                fmt::format("allow them to who asks: echo madvise | sudo tee {}/kernel/mm/transparent_hugepage/enabled",
                            files.sys.string()));
}

Result<> check_huge_pages(std::uint64_t bytes, const PageMode& mode, const SystemFiles& files,
                          std::optional<int> numa_node) {
    const std::filesystem::path folder = huge_page_pool(mode, files, numa_node);
    const auto count = [&](const char* name) { return number(read_line(folder / name)).value_or(0); };
    const std::uint64_t total = count("nr_hugepages");
    const std::uint64_t free = free_huge_pages(mode, files, numa_node);
    const std::uint64_t overcommit = count("nr_overcommit_hugepages");
    const std::uint64_t surplus = overcommit - std::min(overcommit, count("surplus_hugepages"));
    const std::uint64_t needed = (bytes + mode.page_bytes - 1) / mode.page_bytes;
    if (needed <= free + surplus) return {};
    return fail(
        ErrorCode::unavailable, fmt::format("{} huge pages of {} are needed, {} are free", needed, mode.name, free),
        fmt::format("reserve them: echo {} | sudo tee {}/nr_hugepages", total - free + needed, folder.string()));
}

}  // namespace tmaprobe::memory
