#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tmaprobe::model {

/// A way on which lines follow one another. Its time is cut into turns, one for each line, which are given in any
/// order; a turn that was taken long ago is free again.
class LineChannel {
  public:
    /// `line_cycles` 0: there is always room.
    explicit LineChannel(double line_cycles) : line_cycles_(line_cycles) {}
    void clear() { taken_.assign(turns, 0); }
    /// The first free turn, at this cycle or later; it is taken.
    std::uint64_t after(std::uint64_t cycle);
    /// Takes the free turns of so many cycles.
    void take(std::uint64_t cycle, double cycles);

  private:
    static constexpr std::size_t turns = 4096;  ///< lines that are sent within the reach of the reorder buffer
    double line_cycles_;
    std::vector<std::uint64_t> taken_;  ///< which line has each turn
};

}  // namespace tmaprobe::model
