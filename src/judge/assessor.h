#pragma once

#include <memory>
#include <vector>

#include "judge/assess.h"

namespace tmaprobe::judge {

/// The metrics' values again and again, for the intervals of one run: what does not depend on counts is worked out
/// once, and so is where each formula's counts come from, as long as the same events are counted in the same groups.
/// The table outlives it.
class Assessor {
  public:
    Assessor(const events::Table& table, AssessRequest request);
    Assessor(Assessor&&) noexcept;
    Assessor& operator=(Assessor&&) noexcept;
    ~Assessor();

    /// Name, place in the tree, unit, status and value of each metric, as assess() has them; no bounds, no flags, no
    /// reasons. Good until the next call. Errors: as assess.
    Result<const std::vector<record::Metric>*> values(const std::vector<record::Event>& events);

  private:
    struct Kept;
    std::unique_ptr<Kept> kept_;
};

}  // namespace tmaprobe::judge
