#include "model/core/loop_stream.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/core/descriptor.h"

namespace tmaprobe::model::core {

bool LoopStream::leaves(std::uint64_t branch, bool taken, std::uint64_t target, unsigned windows) {
    if (facts_.blocks == 0) return false;
    if (!taken) {
        if (!streams_ || before(round_).branch != branch) return false;
        streams_ = false;
        round_ = 0;
        return true;
    }
    const bool same = round_ && is_same(round_, branch, target);
    const bool left = streams_ && !same;
    if (!same) {
        streams_ = false;
        round_ = last_time(branch, target);
    }
    as_then_ = same ? as_then_ + 1 : std::min<std::size_t>(round_, 1);
    taken_[count_++ % remembered] = {branch, target, windows};
    if (same && as_then_ == facts_.after_branches + facts_.after_rounds * round_) streams_ = fits();
    return left;
}

/// How many taken branches ago that was, if it was within a round; else 0.
std::size_t LoopStream::last_time(std::uint64_t branch, std::uint64_t target) const {
    for (std::size_t ago = 1; ago <= std::min<std::size_t>(facts_.blocks, count_); ++ago)
        if (is_same(ago, branch, target)) return ago;
    return 0;
}

/// Whether the last round, all of which was fetched, is one that can be sent from the queue.
bool LoopStream::fits() const {
    std::size_t windows = 0;
    std::set<std::uint64_t> branches;
    for (std::size_t ago = 1; ago <= round_; ++ago) {
        windows += before(ago).windows;
        branches.insert(before(ago).branch);
    }
    std::map<std::uint64_t, unsigned> in_line;
    for (const std::uint64_t branch : branches) ++in_line[branch / line_bytes];
    return windows <= facts_.blocks &&
           std::ranges::all_of(in_line, [&](const auto& line) { return line.second <= facts_.line_branches; });
}

}  // namespace tmaprobe::model::core
