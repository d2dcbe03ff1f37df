#pragma once

#include <functional>
#include <vector>

namespace tmaprobe::timing {

/// How much of the core's reorder buffer this thread has, by a test of some microseconds. A core with two hyperthreads
/// divides its reorder buffer in two while both are active, whatever the other one does, and a guest that is shown no
/// siblings feels it all the same. Two chains of divisions with no-operations between them overlap as long as the
/// second one's beginning enters the buffer before the first has retired.

/// Time of two chains this many no-operations apart over the time of two side by side: 1 when they overlap, 2 when they
/// do not. 0 where the test is not written for the architecture or there is no loop with that distance.
double measure_overlap(int distance);

/// The distances that measure_overlap has, ascending.
std::vector<int> probe_distances();

/// Chains that take longer than this do not overlap.
inline constexpr double halved_above = 1.4;

/// The longest distance up to which chains overlap, by `overlap`: measure_overlap, or a test's own. 0: none do.
int longest_overlap(const std::function<double(int)>& overlap = measure_overlap);

/// The distance that tells a whole buffer of so many entries from half of one: about three quarters of it. 0: none.
int distance_for(int reorder_buffer);

/// Chooses the distance and tests. Where the size of the buffer is not known it is taken from the distances at which
/// chains still overlap, and revised when they later overlap at twice that: then it was half at first.
class ReorderProbe {
  public:
    /// `reorder_buffer`: entries, 0 when not known; `overlap`: measure_overlap, or a test's own.
    explicit ReorderProbe(int reorder_buffer, std::function<double(int)> overlap = measure_overlap);
    /// As measure_overlap at the chosen distance; 0 when the test says nothing here.
    double read();
    int distance() const { return distance_; }

  private:
    std::function<double(int)> overlap_;
    bool learns_ = false;
    int distance_ = 0;
};

}  // namespace tmaprobe::timing
