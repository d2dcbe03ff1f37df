#include "events/hybrid.h"

#include <fmt/format.h>

#include <algorithm>

#include "events/schema.h"
#include "metrics/expression.h"

namespace tmaprobe::events {

std::string with_pmu(const std::string& text, const std::string& pmu, const Table& table) {
    const auto parsed = metrics::Expression::parse(text);
    if (!parsed) return text;
    const auto is_event = [&](const std::string& name) {
        const std::string plain = lower_case(name.substr(0, name.find(':')));
        return std::ranges::any_of(table.events, [&](const EventDefinition& event) {
            return event.pmu == pmu && lower_case(event.name) == plain;
        });
    };
    std::string result;
    std::uint32_t copied = 0;
    for (const metrics::ExpressionNode& node : parsed->nodes()) {
        if (node.operation != metrics::Operator::name) continue;
        const std::string& name = parsed->names()[node.first];
        if (name.find('@') != std::string::npos || !is_event(name)) continue;
        const std::size_t colon = std::min(name.find(':'), name.size());
        const std::string modifiers = colon < name.size() ? name.substr(colon + 1) : "";
        result += text.substr(copied, node.begin - copied);
        result += fmt::format("{}@{}@{}", pmu, name.substr(0, colon), modifiers);
        copied = node.end;
    }
    return result + text.substr(copied);
}

}  // namespace tmaprobe::events
