// Any text is either refused with a column inside it, or evaluates without undefined behaviour to a
// finite number or a reason.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "metrics/formulas.h"

using namespace tmaprobe;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    // Half a metric and half another: names, circles and thresholds come into play.
    const std::size_t middle = text.find('\n');
    metrics::MetricDefinition first, second;
    first.name = "first";
    second.name = "second";
    first.expression = text.substr(0, middle);
    second.expression = middle == text.npos ? "1" : text.substr(middle + 1);
    first.threshold = second.expression;
    const auto formulas = metrics::Formulas::compile({first, second}, {});
    if (!formulas) {
        require(formulas.error().code == ErrorCode::bad_input && !formulas.error().what.empty());
        return 0;
    }
    metrics::Constants constants;
    constants.values = {{"#smt_on", 1}, {"#slots", 8}};
    constants.cpu_id = "GenuineIntel-6-8F-8";
    metrics::Counts counts;
    double value = 0;
    for (const std::string& event : formulas->events_needed(constants)) {
        counts[event] = {value, value * 0.9, value * 1.2, value != 3};
        value = value * 1.7 + 1;
    }
    for (const auto& result : formulas->evaluate(counts, constants)) {
        if (result.outcome != metrics::Outcome::value) {
            require(!result.reason.empty());
            continue;
        }
        require(std::isfinite(result.value) && result.low <= result.value && result.value <= result.high);
    }
    return 0;
}
