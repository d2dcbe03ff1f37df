#include "judge/pass_lengths.h"

#include <algorithm>
#include <cmath>

#include "judge/count_index.h"

namespace tmaprobe::judge {
namespace {

/// Whether the event counts what this name means, in whatever mode.
bool counts(const events::EventKey& key, const std::optional<events::EventKey>& wanted) {
    return wanted && key.pmu == wanted->pmu && key.config == wanted->config && key.config1 == wanted->config1;
}

std::optional<events::EventKey> key_named(const events::Table& table, const char* name, const std::string& pmu) {
    const auto definition = events::resolve(table, name);
    if (!definition) return std::nullopt;
    auto key = events::key_of(table, *definition);
    key.pmu = pmu;
    return key;
}

}  // namespace

PassLengths::PassLengths(const events::Table& table, const std::vector<record::Event>& events) {
    // One pass has no other that it could be brought to.
    if (std::ranges::adjacent_find(events, std::ranges::not_equal_to{}, &record::Event::pass) == events.end()) return;
    for (const record::Event& event : events) {
        const auto& reading = event.reading;
        if (reading.time_running_ns == 0 || !std::isfinite(reading.value)) continue;
        const events::EventKey key = key_of(table, event);
        if (key.pmu == "software" || key.pmu == "tool" || key.pmu == "msr") continue;
        Length& length = lengths_[event.pass];
        length.time = std::max(length.time, static_cast<double>(reading.time_enabled_ns));
        if (length.cycles == 0 && counts(key, key_named(table, "cycles", key.pmu))) length.cycles = reading.value;
        if (length.instructions == 0 && counts(key, key_named(table, "instructions", key.pmu)))
            length.instructions = reading.value;
    }
}

std::vector<PassFactors> PassLengths::factors(const std::set<int>& passes) const {
    if (passes.size() < 2) return {};
    const auto lengths = [&](double Length::* reference) {
        PassFactors factors;
        const auto first = lengths_.find(*passes.begin());
        for (const int pass : passes) {
            const auto length = lengths_.find(pass);
            const bool known = first != lengths_.end() && length != lengths_.end() && length->second.*reference > 0;
            if (!known) return PassFactors{};
            factors[pass] = first->second.*reference / (length->second.*reference);
        }
        return factors;
    };
    PassFactors same_rate = lengths(&Length::cycles), same_work = lengths(&Length::instructions);
    if (same_rate.empty()) same_rate = lengths(&Length::time);
    if (same_rate.empty()) return {};
    if (same_work.empty())
        for (const int pass : passes) same_work[pass] = 1;

    std::vector<PassFactors> all = {same_rate};
    if (same_work == same_rate) return all;
    all.push_back(same_work);
    if (passes.size() == 2) return all;  // the first is the measure of the others: moving it is moving them
    for (const int pass : passes) {
        PassFactors one = same_rate;
        one[pass] = same_work[pass];
        if (one != same_rate) all.push_back(std::move(one));
    }
    return all;
}

}  // namespace tmaprobe::judge
