#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/where.h"

namespace tmaprobe::report {

/// One time around a loop as a picture of text, as users of llvm-mca know it: D renamed, = waiting to be issued, e in
/// execution, E done, - waiting to retire, R retired; `*` marks what is in the chain.
struct TimelinePicture {
    std::uint64_t cycles_each = 1;  ///< that a character stands for
    std::uint64_t first_cycle = 0;  ///< that is shown: before it, all that there is to show only waits
    std::string ruler;              ///< a digit each ten characters
    std::vector<std::string> rows;  ///< one for each step
};
/// `width`: characters at most.
TimelinePicture picture_of(const record::LoopTimeline& timeline, std::size_t width);

/// "3 cycles a character, from cycle 17 on".
std::string scale_of(const TimelinePicture& picture);

/// Whether any of its instructions is of this function.
bool is_in(const record::LoopTimeline& timeline, const std::string& function);

/// "Loop of keep_below (keep.c:7-9), 94.1% of slots: 6 cycles a time around (the median of 812)".
std::string heading_of(const record::LoopTimeline& timeline);
/// "imulq (3) -> addq (1)": what holds it up; empty: nothing is waited for.
std::string chain_text(const record::LoopTimeline& timeline);
/// "p00 1.5, p01 1.5": ports that are used, the busiest first.
std::string ports_text(const record::LoopTimeline& timeline);

}  // namespace tmaprobe::report
