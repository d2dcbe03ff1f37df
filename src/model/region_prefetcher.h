#pragma once

#include <array>
#include <cstdint>

namespace tmaprobe::model {

/// A prefetcher of the first level that learns which lines around one that missed are asked for after it, of each
/// instruction that asks: AMD's region prefetcher. The lines are counted from the one that missed, wherever that lies;
/// a counter of two bits of each says how sure it is.
class RegionPrefetcher {
  public:
    /// Lines that may be meant, before and after the one that missed: PrefetcherGeometry::most_region_lines of each at
    /// most. 0 and 0: there is none.
    RegionPrefetcher(unsigned before, unsigned after) : before_(before), after_(after) {}

    /// Lines to ask for, bit n: the one that is first_of() and n.
    using Lines = std::uint32_t;
    /// An access of a line, in program order; `missed`: the first level did not have it.
    Lines note(std::uint64_t line, std::uint64_t instruction, bool missed);
    std::uint64_t first_of(std::uint64_t line) const { return line - before_; }

  private:
    /// Lines around one that missed lately, and which of them were asked for since.
    struct Region {
        std::uint64_t first = 0, instruction = 0;
        Lines asked = 0;
    };
    /// Bit by bit, counters from 0 to 3.
    struct Pattern {
        std::uint64_t instruction = 0;
        Lines high = 0, low = 0;
    };
    static constexpr std::uint64_t lines_of_bucket = 8;
    Pattern& pattern_of(std::uint64_t instruction);
    void learn(const Region& region);
    Lines begin(std::uint64_t line, std::uint64_t instruction);

    unsigned before_, after_;
    std::array<Region, 16> regions_{};
    std::size_t next_region_ = 0;
    std::array<std::uint8_t, 64> region_of_{};  ///< by lines, the latest that has some of the bucket
    std::array<Pattern, 256> patterns_{};       ///< by hash of the instruction
};

}  // namespace tmaprobe::model
