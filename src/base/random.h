#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace tmaprobe {

/// Steele and Vigna's splitmix64: small, quick, and the same on every machine, so that what is made with
/// it, a kernel's layout or a choice of windows, depends on the seed alone.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += golden_factor;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// A number from 0 to below - 1; the bias of at most below / 2^64 does not matter here.
    std::uint64_t below(std::uint64_t below) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>(next()) * below) >> 64);
    }
    /// From 0 to below 1.
    double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    /// One of so many, each as likely as `weight(index)` is of `all`, their sum.
    template <class Weight>
    std::size_t pick(std::size_t count, double all, const Weight& weight) {
        double place = static_cast<double>(next()) * 0x1p-64 * all;
        std::size_t chosen = 0;
        while (chosen + 1 < count && place >= weight(chosen)) place -= weight(chosen++);
        return chosen;
    }

  private:
    std::uint64_t state_;
};

}  // namespace tmaprobe
