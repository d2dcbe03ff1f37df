#include "model/code_of_looks.h"

#include <algorithm>

namespace tmaprobe::model {

void CodeOfLooks::look(const counters::perf::TimeProfile& profile) {
    for (const auto& [process, looks] : profile.looks()) {
        Known& known = known_[process];
        // Most looks are at addresses that were met before.
        if (known.addresses == looks.size()) continue;
        known.addresses = looks.size();
        const bool all = std::ranges::all_of(
            looks, [&](const auto& look) { return process::mapping_at(known.code, look.first) != nullptr; });
        if (!all) add(process, process::code_mappings_of(process));
    }
}

// What is known already stays: a library that was unloaded was met while it was there.
void CodeOfLooks::add(pid_t process, const std::vector<process::CodeMapping>& code) {
    auto& known = known_[process].code;
    for (const process::CodeMapping& mapping : code) {
        const auto overlaps = [&](const process::CodeMapping& one) {
            return one.begin < mapping.end && mapping.begin < one.end;
        };
        if (std::ranges::none_of(known, overlaps)) known.push_back(mapping);
    }
    std::ranges::sort(known, {}, &process::CodeMapping::begin);
}

counters::CodeSamples CodeOfLooks::samples(const counters::perf::TimeProfile& profile) const {
    counters::CodeSamples samples;
    samples.weight_of_a_sample = profile.weight_of_a_look();
    samples.about.event = profile.by() == counters::perf::LooksBy::cycles ? "cycles" : "task-clock";
    samples.about.precision = profile.precision();
    samples.about.every = static_cast<double>(profile.furthest_apart());
    samples.about.taken = profile.taken();
    samples.about.lost = profile.lost();
    samples.about.tasks_left_out = profile.left_out();
    for (const auto& [process, looks] : profile.looks()) {
        auto& of_process = samples.processes.emplace_back();
        of_process.process = process;
        if (const auto known = known_.find(process); known != known_.end()) of_process.code = known->second.code;
        for (const auto& [address, times] : looks)
            of_process.numbers.insert(of_process.numbers.end(), {address, times});
    }
    return samples;
}

}  // namespace tmaprobe::model
