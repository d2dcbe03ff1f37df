#pragma once

#include <vector>

#include "model/window_facts.h"

namespace tmaprobe::model {

/// Moments at the same places of each run: in the middle of so many equal parts of its processor time.
class MomentGrid {
  public:
    /// So many points can be had. There are as many as before, where that is about right, and else the largest of a few
    /// numbers that can be had: what two runs can afford is seldom the same, and their places are to be.
    void afford(double points);
    /// The moments of a copy that was made at `begin_ns` of `whole_ns` and goes on until `end_ns`, from 0 where it was
    /// made to 1: that one, and the points that are not too close to it.
    std::vector<double> of(double whole_ns, double begin_ns, double end_ns) const;

  private:
    int points_ = 0;
};

/// How far one is from the next, usually: the median, at least 1.
double usual_distance(std::vector<double> places);

/// Each moment stands for the time that is nearer to it than to any other (WindowFacts::native_ns from at_ns), and for
/// its part of what none is near to, twice as far as is usual; together they stand for `whole_ns`. One at 0 is where a
/// program begins, which is like nothing that comes after it: it stands for itself alone, as long as there is another.
void weigh_by_nearness(std::vector<WindowFacts>& moments, double whole_ns);

}  // namespace tmaprobe::model
