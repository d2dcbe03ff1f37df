#include "trace/page_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t small_page = 4096, large_page = 2u << 20, huge_page = 1u << 30;

}  // namespace

PageMap PageMap::uniform(std::uint64_t page_bytes) {
    PageMap map;
    map.otherwise_ = page_bytes;
    return map;
}

PageMap PageMap::of_process(pid_t pid) {
    const auto text = read_file("/proc/" + std::to_string(pid) + "/smaps");
    return text ? parse(*text) : PageMap();
}

PageMap PageMap::parse(const std::string& smaps) {
    PageMap map;
    std::istringstream lines(smaps);
    std::string line;
    Area area;
    unsigned long long begin = 0, end = 0, size_kib = 0;
    const auto finish = [&] {
        if (area.page_bytes > small_page || area.huge_share > 0) map.areas_.push_back(area);
    };
    while (std::getline(lines, line)) {
        if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2 && line.find('-') < line.find(' ')) {
            finish();
            area = {begin, end, small_page, 0};
        } else if (std::sscanf(line.c_str(), "KernelPageSize: %llu kB", &size_kib) == 1) {
            area.page_bytes = std::uint64_t{size_kib} * 1024;
        } else if (std::sscanf(line.c_str(), "AnonHugePages: %llu kB", &size_kib) == 1 && size_kib > 0) {
            const std::uint64_t first = (area.begin + large_page - 1) / large_page, last = area.end / large_page;
            const double extents = last > first ? static_cast<double>(last - first) : 1;
            area.huge_share = std::min(1.0, static_cast<double>(size_kib) * 1024 / large_page / extents);
            if (area.huge_share < 1) map.partly_known_ = true;
        }
    }
    finish();
    return map;
}

std::uint64_t PageMap::page_bytes(std::uint64_t address) const {
    const auto after = std::upper_bound(areas_.begin(), areas_.end(), address,
                                        [](std::uint64_t value, const Area& area) { return value < area.begin; });
    if (after == areas_.begin()) return otherwise_;
    const Area& area = *(after - 1);
    if (address >= area.end) return otherwise_;
    if (area.page_bytes > small_page) return area.page_bytes;
    const std::uint64_t extent = address / large_page;
    const bool whole = extent * large_page >= area.begin && (extent + 1) * large_page <= area.end;
    if (!whole) return small_page;
    const double position = static_cast<double>(extent - area.begin / large_page);
    const bool huge = std::floor((position + 1) * area.huge_share) > std::floor(position * area.huge_share);
    return huge ? large_page : small_page;
}

void PageMap::add(std::uint64_t address, std::uint64_t page_bytes) {
    const std::uint64_t begin = address / page_bytes * page_bytes;
    const auto after = std::upper_bound(areas_.begin(), areas_.end(), begin,
                                        [](std::uint64_t value, const Area& area) { return value < area.begin; });
    if (after != areas_.begin() && begin < (after - 1)->end) return;
    areas_.insert(after, {begin, begin + page_bytes, page_bytes, 0});
}

void PageMap::cover(std::uint64_t begin, std::uint64_t end, std::uint64_t page_bytes) {
    begin = (begin + page_bytes - 1) / page_bytes * page_bytes;
    end = end / page_bytes * page_bytes;
    if (begin >= end) return;
    std::vector<Area> areas;
    for (const Area& area : areas_) {
        if (area.begin < begin)
            areas.push_back({area.begin, std::min(area.end, begin), area.page_bytes, area.huge_share});
        if (area.end > end) areas.push_back({std::max(area.begin, end), area.end, area.page_bytes, area.huge_share});
    }
    areas.push_back({begin, end, page_bytes, 0});
    std::sort(areas.begin(), areas.end(), [](const Area& one, const Area& other) { return one.begin < other.begin; });
    areas_ = std::move(areas);
}

Result<std::uint64_t> parse_assumed_pages(const std::string& name) {
    if (name == "4k") return small_page;
    if (name == "2m") return large_page;
    if (name == "1g") return huge_page;
    return fail(ErrorCode::bad_usage, "no page size is called '" + name + "'", "one of: 4k, 2m, 1g");
}

}  // namespace tmaprobe::trace
