#include "counters/model/mapping.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tmaprobe::counters::model {
namespace {

using nlohmann::json;

tl::unexpected<Error> malformed(const std::string& file, const std::string& what) {
    return fail(ErrorCode::bad_input, file + ": " + what);
}

/// "fact" or {"fact": coefficient, ...}.
Result<std::vector<std::pair<std::string, double>>> read_terms(const json& value, const std::string& file, const std::string& name) {
    std::vector<std::pair<std::string, double>> terms;
    if (value.is_string()) {
        terms.emplace_back(value.get<std::string>(), 1.0);
    } else if (value.is_object()) {
        for (const auto& [fact, coefficient] : value.items()) {
            if (!coefficient.is_number()) return malformed(file, "event '" + name + "': the factor of '" + fact + "' is no number");
            terms.emplace_back(fact, coefficient.get<double>());
        }
    } else {
        return malformed(file, "event '" + name + "' is neither a fact's name nor an object of facts");
    }
    return terms;
}

}  // namespace

Result<Mapping> load_mapping(const events::Library& library, const events::Table& table) {
    const std::string file = table.folder + "/model.json";
    auto text = events::read_data(library, file);
    if (!text) return fail(ErrorCode::unavailable, "no model of " + table.folder, text.error().hint);
    const json root = json::parse(*text, nullptr, false);
    if (root.is_discarded() || !root.is_object()) return malformed(file, "not a JSON object");
    if (!root.contains("events") || !root["events"].is_object()) return malformed(file, "no object 'events'");
    Mapping mapping;
    for (const auto& [name, value] : root["events"].items()) {
        auto terms = read_terms(value, file, name);
        if (!terms) return pass_on(terms);
        MappedEvent event{name, 0, false, std::move(*terms)};
        if (auto known = events::resolve(table, name)) {
            event.config = known->config;
            event.encoded = known->config != 0;
        }
        mapping.events.push_back(std::move(event));
    }
    if (root.contains("not_modelled") && root["not_modelled"].is_object())
        for (const auto& [name, reason] : root["not_modelled"].items())
            if (reason.is_string()) mapping.reasons[name] = reason.get<std::string>();
    return mapping;
}

std::vector<std::string> unknown_facts(const Mapping& mapping, const Facts& known) {
    std::vector<std::string> names;
    for (const MappedEvent& event : mapping.events)
        for (const auto& [fact, coefficient] : event.terms)
            if (!known.count(fact)) names.push_back(event.name + ": " + fact);
    return names;
}

bool modelled_count(const Mapping& mapping, const PlannedEvent& event, const Facts& facts, double& value, std::string& why) {
    const auto found = std::find_if(mapping.events.begin(), mapping.events.end(), [&](const MappedEvent& mapped) {
        return mapped.name == event.name || mapped.name == event.definition.name ||
               (mapped.encoded && mapped.config == event.definition.config);
    });
    if (found == mapping.events.end()) {
        const auto reason = mapping.reasons.find(event.definition.name);
        why = reason != mapping.reasons.end() ? reason->second : "the model has no counterpart of this event";
        return false;
    }
    value = 0;
    for (const auto& [fact, coefficient] : found->terms) {
        const auto amount = facts.find(fact);
        if (amount == facts.end()) {
            why = "the model does not know the fact '" + fact + "'";
            return false;
        }
        value += coefficient * amount->second;
    }
    return true;
}

}  // namespace tmaprobe::counters::model
