#include "judge/assessor.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "judge/prepared.h"

namespace tmaprobe::judge {

/// What decides from which events a formula's counts are taken.
struct EventPlace {
    std::string name, pmu;
    int pass = 0, group = 0;
    record::Note note = record::Note::none;
    bool ran = false, enabled = false;
};

/// Metrics whose counts come from the same groups.
struct SameGroups {
    struct Source {
        std::size_t event = 0;
        metrics::Count* count = nullptr;  ///< of `counts`, whose nodes stay where they are
        double factor = 1;
    };
    std::vector<std::size_t> members;  ///< by place among the wanted ones
    metrics::Formulas formulas;        ///< of these alone
    metrics::Counts counts;
    std::vector<Source> sources;
};

/// How one shape of events is evaluated.
struct Layout {
    std::vector<EventPlace> places;
    bool one_pass = true;  ///< of several passes the lengths have to be compared
    std::vector<SameGroups> parts;
    std::vector<record::Metric> metrics;
    std::vector<double> factors;  ///< from a formula's result to the metric's unit
};

namespace {

bool is_at(const EventPlace& place, const record::Event& event) {
    return place.pass == event.pass && place.group == event.group && place.note == event.note &&
           place.ran == (event.reading.time_running_ns > 0) && place.enabled == (event.reading.time_enabled_ns > 0) &&
           place.name == event.name && place.pmu == event.pmu;
}

EventPlace place_of(const record::Event& event) {
    return {event.name,
            event.pmu,
            event.pass,
            event.group,
            event.note,
            event.reading.time_running_ns > 0,
            event.reading.time_enabled_ns > 0};
}

bool fits(const Layout& layout, const std::vector<record::Event>& events) {
    return std::ranges::equal(layout.places, events, is_at);
}

Result<Layout> lay_out(const Prepared& prepared, const events::Table& table, const std::vector<record::Event>& events,
                       const AssessRequest& request) {
    Layout layout;
    std::ranges::transform(events, std::back_inserter(layout.places), place_of);
    layout.one_pass =
        std::ranges::adjacent_find(events, std::ranges::not_equal_to{}, &record::Event::pass) == events.end();
    if (!layout.one_pass) return layout;
    const CountIndex index(table, events, request.status != record::Status::measured);
    const Groups groups = choose_groups(prepared, index);
    std::map<std::vector<GroupId>, std::vector<std::size_t>> by_groups;
    for (std::size_t i = 0; i < groups.size(); ++i) by_groups[groups[i]].push_back(i);
    auto definitions = prepared.definitions;
    for (auto& definition : definitions) {
        // Where a value may lie is not asked.
        definition.low_expression.clear();
        definition.high_expression.clear();
        definition.threshold.clear();
    }
    layout.parts.reserve(by_groups.size());
    for (const auto& [from, members] : by_groups) {
        layout.parts.emplace_back();
        SameGroups& part = layout.parts.back();
        part.members = members;
        std::vector<std::size_t> wanted;
        for (const std::size_t member : members) wanted.push_back(prepared.wanted[member]);
        part.formulas = TRY(metrics::Formulas::compile(definitions, wanted));
        for (const auto& [text, spelling] : prepared.spellings) {
            if (const record::Event* event = index.find(spelling.key, from)) {
                const auto place = static_cast<std::size_t>(event - events.data());
                part.sources.push_back({place, &part.counts[text], unit_factor(spelling)});
                part.counts[text] = index.count_of(*event);
            } else if (spelling.latency)
                part.counts[text] = spelling.latency->cycles;
        }
    }
    for (const std::size_t definition : prepared.wanted) {
        const UnitConversion scale = unit_conversion_of(prepared.definitions[definition]);
        layout.metrics.push_back(describe(prepared.definitions[definition], scale));
        layout.factors.push_back(scale.factor);
    }
    return layout;
}

void evaluate_part(SameGroups& part, const Prepared& prepared, const std::vector<record::Event>& events,
                   record::Status status, Layout& layout) {
    for (const auto& source : part.sources)
        source.count->value = source.count->low = source.count->high =
            events[source.event].reading.value * source.factor;
    const auto values = part.formulas.evaluate(part.counts, prepared.constants);
    for (std::size_t i = 0; i < values.size(); ++i) {
        record::Metric& metric = layout.metrics[part.members[i]];
        if (values[i].outcome == metrics::Outcome::value) {
            const bool approximate = prepared.definitions[prepared.wanted[part.members[i]]].approximate;
            metric.status = approximate ? record::Status::approximate : status;
            metric.value = values[i].value * layout.factors[part.members[i]];
        } else {
            metric.status = values[i].outcome == metrics::Outcome::not_counted ? record::Status::not_counted
                                                                               : record::Status::unavailable;
            metric.value = 0;
        }
        metric.low = metric.high = metric.value;
    }
}

}  // namespace

struct Assessor::Kept {
    struct OfPmu {
        Prepared prepared;
        std::optional<Layout> layout;
    };
    const events::Table& table;
    AssessRequest request;
    std::map<std::string, OfPmu> by_pmu;
};

Assessor::Assessor(const events::Table& table, AssessRequest request) : kept_(new Kept{table, std::move(request), {}}) {
    // They widen bounds.
    kept_->request.repetitions.clear();
    kept_->request.variations.clear();
}
Assessor::Assessor(Assessor&&) noexcept = default;
Assessor& Assessor::operator=(Assessor&&) noexcept = default;
Assessor::~Assessor() = default;

Result<const std::vector<record::Metric>*> Assessor::values(const std::vector<record::Event>& events) {
    const std::string pmu = choose_pmu(kept_->table, events, kept_->request.pmu);
    auto known = kept_->by_pmu.find(pmu);
    if (known == kept_->by_pmu.end())
        known = kept_->by_pmu.emplace(pmu, Kept::OfPmu{TRY(prepare(kept_->table, pmu, kept_->request)), {}}).first;
    auto& [prepared, layout] = known->second;
    if (!layout || !fits(*layout, events)) layout = TRY(lay_out(prepared, kept_->table, events, kept_->request));
    if (layout->one_pass)
        for (auto& part : layout->parts) evaluate_part(part, prepared, events, kept_->request.status, *layout);
    else
        layout->metrics = assess_prepared(prepared, kept_->table, events, kept_->request);
    return &layout->metrics;
}

}  // namespace tmaprobe::judge
