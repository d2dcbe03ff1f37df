#include "trace/stacked_calls.h"

#include "trace/heap_blocks.h"

namespace tmaprobe::trace {

std::uint32_t StackedCalls::path() {
    std::size_t known = under_way_.size();
    while (known > 0 && under_way_[known - 1].path == unknown) --known;
    std::uint32_t path = known > 0 ? under_way_[known - 1].path : 0;
    for (; known < under_way_.size(); ++known) path = under_way_[known].path = number_of(path, under_way_[known].site);
    return path;
}

std::uint32_t StackedCalls::number_of(std::uint32_t from, std::uint64_t site) {
    const auto [known, is_new] = numbers_.try_emplace({from, site}, 0);
    if (!is_new) return known->second;
    for (std::uint32_t around = from; around; around = paths_[around].from)
        if (paths_[around].site == site) return known->second = around;
    if (paths_.size() >= HeapBlocks::most_owners) return 0;
    known->second = static_cast<std::uint32_t>(paths_.size());
    paths_.push_back({from, site});
    return known->second;
}

}  // namespace tmaprobe::trace
