#include "experiments/requirements.h"

#include "base/sizes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "timing/effective_pages.h"

namespace tmaprobe::experiments {
namespace {

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t page) { return (bytes + page - 1) / page * page; }

/// Needs of one pool (or of ordinary memory: page size 0) and node together; the largest of them where they are not at
/// once.
std::vector<MemoryNeed> merged(const std::vector<MemoryNeed>& needs, bool at_once) {
    std::map<std::pair<std::uint64_t, int>, MemoryNeed> by_pool;
    for (const auto& need : needs) {
        if (need.bytes == 0) continue;
        const std::uint64_t page = need.mode.hugetlb ? need.mode.page_bytes : 0;
        const std::uint64_t bytes = page ? rounded_up(need.bytes, page) : need.bytes;
        auto [entry, fresh] = by_pool.try_emplace({page, need.numa_node.value_or(-1)}, need);
        if (fresh)
            entry->second.bytes = bytes;
        else
            entry->second.bytes = at_once ? entry->second.bytes + bytes : std::max(entry->second.bytes, bytes);
    }
    std::vector<MemoryNeed> all;
    for (const auto& [pool, need] : by_pool) all.push_back(need);
    return all;
}

Result<> check_need(const MemoryNeed& need, const memory::SystemFiles& files) {
    if (need.bytes == 0) return {};
    if (need.numa_node && *need.numa_node > 0 &&
        !std::filesystem::exists(files.sys / fmt::format("devices/system/node/node{}", *need.numa_node)))
        return fail(ErrorCode::bad_usage, fmt::format("there is no NUMA node {}", *need.numa_node),
                    "see /sys/devices/system/node for those that there are");
    if (need.mode.hugetlb) return memory::check_huge_pages(need.bytes, need.mode, files, need.numa_node);
    if (need.mode.transparent)
        if (const auto allowed = memory::check_transparent_pages(files); !allowed) return allowed;
    return memory::check_memory(need.bytes, files, need.numa_node);
}

/// The modes asked for, with what works here in the place of those that do not.
std::string modes_that_work(const std::vector<MemoryNeed>& needs, const memory::SystemFiles& files) {
    const std::string base = format_page_size(memory::base_page_bytes());
    std::vector<std::string> modes;
    const auto add = [&](const std::string& name) {
        if (std::ranges::find(modes, name) == modes.end()) modes.push_back(name);
    };
    for (const auto& need : needs) {
        if (check_need(need, files))
            add(need.mode.name.empty() ? base : need.mode.name);
        else if (need.mode.hugetlb && memory::transparent_pages_allowed(files))
            add("thp");
    }
    if (modes.empty()) add(base);
    return fmt::format("{}", fmt::join(modes, ","));
}

Error with_what_works(Error error, const MemoryNeed& need, const std::vector<MemoryNeed>& needs,
                      const memory::SystemFiles& files) {
    if (!need.mode.hugetlb && !need.mode.transparent) return error;
    error.what = fmt::format("--pages {}: {}", need.mode.name, error.what);
    const std::string instead = fmt::format("--pages {} works here at once", modes_that_work(needs, files));
    const bool root = ::geteuid() == 0;
    const std::string reserve = !need.mode.hugetlb ? ""
                                : root             ? "; --reserve-pages reserves them for this run"
                                                   : "; as root, --reserve-pages reserves them for this run";
    error.hint = fmt::format("{}{}; {}", instead, reserve, error.hint);
    return error;
}

}  // namespace

MemoryNeed need_of(const KernelRun& point) {
    return {point.parameters.pages, kernels::footprint(*point.kernel, point.parameters), point.parameters.numa_node};
}

Result<std::vector<MemoryNeed>> needs_of(const KernelRun& point, const std::vector<std::string>& modes) {
    std::vector<MemoryNeed> needs;
    for (const auto& name : modes) {
        const auto mode = TRY(memory::parse_page_mode(name));
        KernelRun each = point;
        each.parameters.pages = mode;
        needs.push_back(need_of(each));
    }
    return needs;
}

Result<> check_needs(const std::vector<MemoryNeed>& needs, bool at_once, const memory::SystemFiles& files) {
    for (const auto& need : needs)
        if (const auto possible = check_need(need, files); !possible)
            return tl::unexpected<Error>(with_what_works(possible.error(), need, needs, files));
    if (!at_once) return {};
    for (const auto& need : merged(needs, true))
        if (const auto possible = check_need(need, files); !possible)
            return tl::unexpected<Error>(with_what_works(possible.error(), need, needs, files));
    return {};
}

Result<memory::ReservedPages> reserve_for(const std::vector<MemoryNeed>& needs, bool at_once, const machine::Host& host,
                                          const memory::SystemFiles& files) {
    std::vector<memory::PoolNeed> pools;
    for (const auto& need : merged(needs, at_once)) {
        if (!need.mode.hugetlb) continue;
        const std::uint64_t probe = timing::effective_pages_bytes(host);
        const std::uint64_t bytes =
            std::max(rounded_up(need.bytes, need.mode.page_bytes), rounded_up(probe, need.mode.page_bytes));
        pools.push_back({need.mode, bytes / need.mode.page_bytes, need.numa_node});
    }
    if (pools.empty())
        return fail(ErrorCode::bad_usage, "--reserve-pages: no page mode that was asked for takes reserved huge pages",
                    "name one: --pages 4k,2m");
    return memory::ReservedPages::reserve(pools, files);
}

void give_back(memory::ReservedPages& reserved, record::Record& record) {
    for (const auto& change : reserved.changes())
        record.extra.reserved_pages.push_back({change.pages, change.from, change.to});
    if (const auto given = reserved.give_back(); !given)
        record.warnings.push_back({"pages_not_given_back", given.error().what, given.error().hint});
}

}  // namespace tmaprobe::experiments
