#include "experiments/assess.h"

namespace tmaprobe::experiments {

Result<std::vector<std::string>> choose_metrics(const events::Table&, int, const std::vector<std::string>&) {
    return std::vector<std::string>{};
}

Result<std::vector<record::Metric>> assess(const events::Table&, const std::vector<record::Event>&,
                                           const AssessRequest&) {
    return std::vector<record::Metric>{};
}

}  // namespace tmaprobe::experiments
