#pragma once

namespace tmaprobe::record {

/// How many times as fast it would be: 1 is as it is, below 1 is slower.
struct SpeedUp {
    double value = 1, low = 1, high = 1;
};

}  // namespace tmaprobe::record
