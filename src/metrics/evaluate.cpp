#include "metrics/evaluate.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "metrics/formulas.h"

namespace tmaprobe::metrics {
namespace {

/// Indices of the definitions with these names, each name in the order given; empty names: none.
Result<std::vector<std::size_t>> find_wanted(const std::vector<MetricDefinition>& definitions,
                                             const std::vector<std::string>& names) {
    std::vector<std::size_t> found;
    for (const std::string& name : names) {
        const std::size_t before = found.size();
        for (std::size_t i = 0; i < definitions.size(); ++i)
            if (definitions[i].name == name) found.push_back(i);
        if (found.size() > before) continue;
        std::vector<std::string> all;
        for (const MetricDefinition& definition : definitions) all.push_back(definition.name);
        return fail(ErrorCode::bad_usage, fmt::format("no metric '{}'", name), suggest(name, all));
    }
    return found;
}

Result<Formulas> compile(const std::vector<MetricDefinition>& definitions, const std::vector<std::string>& names) {
    const auto wanted = TRY(find_wanted(definitions, names));
    return Formulas::compile(definitions, wanted);
}

}  // namespace

Result<std::vector<MetricValue>> evaluate(const std::vector<MetricDefinition>& definitions,
                                          const std::vector<std::string>& wanted, const Counts& counts,
                                          const Constants& constants) {
    const auto formulas = TRY(compile(definitions, wanted));
    return formulas.evaluate(counts, constants);
}

Result<std::vector<std::string>> events_needed(const std::vector<MetricDefinition>& definitions,
                                               const std::vector<std::string>& wanted, const Constants& constants) {
    const auto formulas = TRY(compile(definitions, wanted));
    return formulas.events_needed(constants);
}

}  // namespace tmaprobe::metrics
