#include "model/line_channel.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model {

std::uint64_t LineChannel::after(std::uint64_t cycle) {
    if (line_cycles_ == 0) return cycle;
    std::uint64_t turn = static_cast<std::uint64_t>(static_cast<double>(cycle) / line_cycles_) + 1;
    while (taken_[turn % turns] == turn) ++turn;
    taken_[turn % turns] = turn;
    return std::max(cycle, static_cast<std::uint64_t>(static_cast<double>(turn - 1) * line_cycles_));
}

void LineChannel::take(std::uint64_t cycle, double cycles) {
    if (line_cycles_ == 0) return;
    for (long turn = std::lround(cycles / line_cycles_); turn > 0; --turn) after(cycle);
}

}  // namespace tmaprobe::model
