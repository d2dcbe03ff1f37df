#include "counters/model/mapping.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "events/core_data.h"
#include "events/library.h"
#include "events/model_tree.h"

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

/// An event of the model itself: the fact that its name says.
bool own_fact(std::string_view name, const Facts& facts, double& value, std::string& why) {
    if (name.starts_with(events::model_event_prefix)) name.remove_prefix(events::model_event_prefix.size());
    const auto fact = facts.find(name);
    if (fact == facts.end()) {
        why = "the model does not know the fact '" + std::string(name) + "'";
        return false;
    }
    value = fact->second;
    return true;
}

}  // namespace

Result<Mapping> load_mapping(const events::Library& library, const events::Table& table) {
    const std::string file = table.folder + "/model.json";
    auto text = events::read_core_data(library, table.folder, "model.json");
    if (!text && text.error().code != ErrorCode::unavailable) return pass_on(text);
    if (!text) return fail(ErrorCode::unavailable, "no model of " + table.folder, text.error().hint);
    const json root = json::parse(*text, nullptr, false);
    if (root.is_discarded() || !root.is_object()) return malformed(file, "not a JSON object");
    if (!root.contains("events") || !root["events"].is_object()) return malformed(file, "no object 'events'");
    Mapping mapping;
    for (const auto& [name, value] : root["events"].items()) {
        auto terms = read_terms(value, file, name);
        if (!terms) return pass_on(terms);
        MappedEvent event{name, 0, 0, false, std::move(*terms)};
        // Files are shared by CPUs of which each has some of the events: asking libpfm4 for the others would take
        // longer than all else here.
        const bool spelt_out = name.find('@') != std::string::npos;
        const auto resolved = spelt_out ? events::resolve(table, name) : Result<events::EventDefinition>{};
        const events::EventDefinition* known = spelt_out && resolved ? &*resolved : nullptr;
        if (!spelt_out) known = events::find_event(table, name);
        if (known) {
            event.config = known->config;
            event.config1 = known->config1;
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
    const events::EventDefinition& definition = event.definition;
    if (definition.pmu == events::model_pmu) return own_fact(definition.name, facts, value, why);
    if (definition.pmu == "cpu_atom") {
        why = "the model is of this hybrid's P-core; its E-core is modelled as a CPU of its own (--target alderlaken)";
        return false;
    }
    const bool encoded = definition.pmu.empty() || definition.pmu == "cpu_core";
    const auto found = std::find_if(mapping.events.begin(), mapping.events.end(), [&](const MappedEvent& mapped) {
        return mapped.name == event.name || mapped.name == definition.name ||
               (encoded && mapped.encoded && mapped.config == definition.config &&
                mapped.config1 == definition.config1);
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
