#include "counters/replay/replay.h"

namespace tmaprobe::counters::replay {

Result<std::vector<Snapshot>> read_counts(const std::filesystem::path&) { return std::vector<Snapshot>{}; }
Result<std::vector<record::Event>> match(const Snapshot&, const events::Table&, const Plan&) {
    return std::vector<record::Event>{};
}

}  // namespace tmaprobe::counters::replay
