#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tmaprobe::model {

/// What is asked for and not there yet, of which there is room for so many at a time: misses, walks. Questions may be
/// about any cycle that is not before the oldest one.
class InFlight {
  public:
    void clear();
    /// One that takes up room from `begin` up to `end`, not before it.
    void add(std::uint64_t begin, std::uint64_t end);
    /// Nothing is asked any more about cycles before this one.
    void forget_before(std::uint64_t oldest);
    /// How many there are at that cycle.
    std::size_t at(std::uint64_t cycle) const;
    /// The first cycle, from this one on, at which there are fewer than `limit`; 0 is no limit.
    std::uint64_t room_from(std::uint64_t cycle, std::size_t limit) const;

  private:
    /// In order; those before `first` are forgotten.
    struct Cycles {
        std::vector<std::uint64_t> all;
        std::size_t first = 0;

        void add(std::uint64_t cycle);
        void drop(std::size_t count);
        /// Where those after this cycle begin.
        std::size_t after(std::uint64_t cycle) const;
    };

    /// How many there are is how many have begun less how many have ended: which end is of which beginning does not
    /// matter.
    Cycles begins_, ends_;
};

}  // namespace tmaprobe::model
