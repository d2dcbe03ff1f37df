#include "model/mapping.h"

#include <algorithm>

#include "base/json/value.h"
#include "events/core_data.h"
#include "events/library.h"
#include "events/model_tree.h"

namespace tmaprobe::model {
namespace {

tl::unexpected<Error> malformed(const std::string& file, const std::string& what) {
    return fail(ErrorCode::bad_input, file + ": " + what);
}

/// "fact" or {"fact": coefficient, ...}.
Result<std::vector<std::pair<std::string, double>>> read_terms(json::Value value, const std::string& file,
                                                               const std::string& name) {
    std::vector<std::pair<std::string, double>> terms;
    if (value.is_text()) {
        terms.emplace_back(*value.text(), 1.0);
    } else if (value.is_object()) {
        for (const json::Value coefficient : value) {
            const std::string fact(coefficient.key());
            const auto factor = coefficient.number();
            if (!factor) return malformed(file, "event '" + name + "': the factor of '" + fact + "' is no number");
            terms.emplace_back(fact, *factor);
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

/// The model is of the larger cores of a hybrid.
constexpr std::string_view other_core = "cpu_atom";

bool is_of_other_core(const events::EventDefinition& event) { return event.pmu == other_core; }

/// The event's counterpart, by name or encoding; null: there is none.
const MappedEvent* counterpart(const Mapping& mapping, std::string_view spelling,
                               const events::EventDefinition& event) {
    const bool encoded = event.pmu.empty() || event.pmu == "cpu_core";
    const auto found = std::ranges::find_if(mapping.events, [&](const MappedEvent& mapped) {
        return mapped.name == spelling || mapped.name == event.name ||
               (encoded && mapped.encoded && mapped.config == event.config && mapped.config1 == event.config1);
    });
    return found == mapping.events.end() ? nullptr : &*found;
}

/// Whether the model counts all events of a metric, but for those that it leaves out with a reason.
bool counts_all(const Mapping& mapping, const events::Table& table, const std::string& metric,
                const metrics::Constants& constants) {
    const auto needed = metrics::events_needed(table.metrics, {metric}, constants);
    return needed && std::ranges::all_of(*needed, [&](const std::string& spelling) {
               const auto event = events::resolve(table, spelling);
               return event && (is_of_other_core(*event) || mapping.reasons.contains(event->name) ||
                                event->pmu == events::model_pmu || event->is_latency() ||
                                counterpart(mapping, spelling, *event));
           });
}

}  // namespace

Result<int> levels_modelled(const events::Library& library, const events::Table& table,
                            const metrics::Constants& constants) {
    const auto mapping = TRY(load_mapping(library, table));
    for (int level = 1;; ++level) {
        bool any = false, all = true;
        for (const auto& metric : table.metrics) {
            if (metric.level != level || metric.pmu == other_core) continue;
            any = true;
            all = all && counts_all(mapping, table, metric.name, constants);
        }
        if (!any || !all) return level - 1;
    }
}

Result<Mapping> load_mapping(const events::Library& library, const events::Table& table) {
    const std::string file = table.folder + "/model.json";
    auto text = events::read_core_data(library, table.folder, "model.json");
    if (!text && text.error().code != ErrorCode::unavailable) return pass_on(text);
    if (!text) return fail(ErrorCode::unavailable, "no model of " + table.folder, text.error().hint);
    const auto document = json::parse(*text, file);
    if (!document || !document->root().is_object()) return malformed(file, "not a JSON object");
    const json::Value listed = document->root().at("events");
    if (!listed.is_object()) return malformed(file, "no object 'events'");
    Mapping mapping;
    for (const json::Value value : listed) {
        const std::string name(value.key());
        auto terms = TRY(read_terms(value, file, name));
        MappedEvent event{name, 0, 0, false, std::move(terms)};
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
    for (const json::Value reason : document->root().at("not_modelled"))
        if (const auto why = reason.text()) mapping.reasons[std::string(reason.key())] = *why;
    return mapping;
}

std::vector<std::string> unknown_facts(const Mapping& mapping, const Facts& known) {
    std::vector<std::string> names;
    for (const MappedEvent& event : mapping.events)
        for (const auto& [fact, coefficient] : event.terms)
            if (!known.count(fact)) names.push_back(event.name + ": " + fact);
    return names;
}

bool modelled_count(const Mapping& mapping, const counters::PlannedEvent& event, const Facts& facts, double& value,
                    std::string& why) {
    const events::EventDefinition& definition = event.definition;
    if (definition.pmu == events::model_pmu) return own_fact(definition.name, facts, value, why);
    if (is_of_other_core(definition)) {
        why = "the model is of this hybrid's P-core; its E-core is modelled as a CPU of its own (--target alderlaken)";
        return false;
    }
    const MappedEvent* found = counterpart(mapping, event.name, definition);
    if (!found) {
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

}  // namespace tmaprobe::model
