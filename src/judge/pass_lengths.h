#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// By how much the counts of each pass are multiplied.
using PassFactors = std::map<int, double>;

/// How long each pass of a measurement was, by what all of them counted. A metric whose events were counted in
/// several passes would mix runs of different length; it is evaluated on counts that are brought to the first of
/// its passes.
///
/// The value takes counts per cycle as those of its own pass (per second of counted time, where not every pass
/// counted cycles). A run may also be longer because the same work waited more: then its counts would have been
/// the same in the shorter one. That is the other end, told by the instructions that each pass retired (where not
/// every pass counted them, the work is taken to be the same). low..high hold both, for all passes at once and
/// for each by itself.
class PassLengths {
  public:
    PassLengths(const events::Table& table, const std::vector<record::Event>& events);

    /// Factors for the value, one set, and further sets from which the bounds are widened. Empty: one pass, or
    /// all of the same length.
    std::vector<PassFactors> factors(const std::set<int>& passes) const;

  private:
    struct Length {
        double cycles = 0, instructions = 0, time = 0;  ///< 0: not counted in this pass
    };
    std::map<int, Length> lengths_;
};

}  // namespace tmaprobe::judge
