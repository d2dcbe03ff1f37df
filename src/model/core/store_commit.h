#pragma once

// How stores leave the store buffer.

#include <array>
#include <cstdint>

#include "events/cpu_geometry.h"

namespace tmaprobe::model::core {

/// Stores leave in order: one a cycle, or several to one block, or in two cycles those to two blocks. Where the core
/// has to put old and new together in a unit of the first-level cache, which a store fills in part only, the next store
/// to the unit waits, if others to other blocks left between the two.
class StoreCommit {
  public:
    struct Left {
        std::uint64_t cycle = 0;
        bool in_part = false;  ///< it left a unit in which not all is of it and of those to the same block before it
    };
    explicit StoreCommit(const events::CoreGeometry& core) : core_(core) {}
    /// `owned`: the cycle in which it has retired and its line is owned.
    Left leaves(std::uint64_t address, unsigned bytes, std::uint64_t owned);

  private:
    /// The first and the last unit of a store that left one in part.
    struct Unit {
        std::uint64_t first = 0, last = 0, cycle = 0;
    };
    bool completes_units(std::uint64_t address, unsigned bytes, bool follows);
    bool comes_too_soon(std::uint64_t first, std::uint64_t last, std::uint64_t cycle) const;

    static constexpr std::size_t remembered = 4;
    const events::CoreGeometry& core_;
    std::uint64_t last_cycle_ = 0, block_ = ~0ull;
    unsigned in_cycle_ = 0;
    std::uint64_t written_ = 0, written_line_ = 0;  ///< its bytes that the last ones wrote, as bits
    std::array<Unit, remembered> in_part_{};
    std::size_t number_in_part_ = 0;
};

}  // namespace tmaprobe::model::core
