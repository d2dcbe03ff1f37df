#include "counters/perf/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/file.h"

namespace tmaprobe::counters::perf {
namespace {

/// One counter per event, CPU and thread.
std::size_t files_of(const EventGroup& group, const CountingTarget& target, const std::vector<machine::Pmu>& pmus) {
    std::size_t files = 0;
    for (const auto& event : group.events) files += instances_of(event, target, pmus).count();
    return files;
}

/// Of equal parts of a list, one.
template <class Item>
void keep_part(std::vector<Item>& items, const Turn& turn) {
    const auto at = [&](std::size_t part) {
        return items.begin() + static_cast<std::ptrdiff_t>(items.size() * part / turn.parts);
    };
    items = std::vector<Item>(at(turn.part), at(turn.part + 1));
}

bool whole_cpus(const CountingTarget& target) { return target.threads == std::vector<pid_t>{-1}; }

/// How long a thread has been on a CPU, in ns; 0 for one that is gone.
std::uint64_t time_of_thread(pid_t thread) {
    return std::strtoull(read_line(fmt::format("/proc/{}/schedstat", thread)).c_str(), nullptr, 10);
}

}  // namespace

std::vector<Turn> turns_of(const std::vector<EventGroup>& groups, const CountingTarget& target, std::size_t files) {
    const auto& pmus = known_core_pmus();
    const std::size_t divisible = whole_cpus(target) ? target.cpus.size() : target.threads.size();
    std::vector<Turn> turns;
    std::size_t used = files;  // of the turn that is being filled: there is none
    for (std::size_t group = 0; group < groups.size(); ++group) {
        const std::size_t wanted = files_of(groups[group], target, pmus);
        if (wanted > files) {
            for (std::size_t parts = 2;; ++parts) {
                if (parts > divisible) return {};
                Turn largest{{group}, parts - 1, parts};  // the last part is never the smaller one
                if (files_of(groups[group], part_of(target, largest), pmus) > files) continue;
                for (std::size_t part = 0; part < parts; ++part) turns.push_back({{group}, part, parts});
                break;
            }
            used = files;
        } else if (!turns.empty() && turns.back().parts == 1 && used + wanted <= files) {
            turns.back().groups.push_back(group);
            used += wanted;
        } else {
            turns.push_back({{group}});
            used = wanted;
        }
    }
    if (turns.empty()) turns.push_back({});
    return turns;
}

CountingTarget part_of(const CountingTarget& target, const Turn& turn) {
    CountingTarget part = target;
    if (whole_cpus(target))
        keep_part(part.cpus, turn);
    else
        keep_part(part.threads, turn);
    return part;
}

Result<CountsInTurns> CountsInTurns::open(const std::vector<EventGroup>& groups, bool apart, Look look, Open open) {
    CountsInTurns counts;
    counts.groups_ = &groups;
    counts.apart_ = apart;
    counts.look_ = std::move(look);
    counts.open_ = std::move(open);
    const auto target = TRY(counts.look_());
    const auto& pmus = known_core_pmus();
    for (const auto& group : groups) counts.wanted_files_ += files_of(group, target, pmus);
    // What a command's exec starts cannot be opened later on.
    counts.files_ = target.start_on_exec ? ~std::size_t{0} : files_left();
    if (counts.wanted_files_ > counts.files_) counts.turns_ = turns_of(groups, target, counts.files_);
    if (counts.turns_.size() < 2) {
        Turn all;
        for (std::size_t group = 0; group < groups.size(); ++group) all.groups.push_back(group);
        counts.turns_ = {std::move(all)};
    }
    if (counts.turns() > 1) counts.lay_out(target);
    TRY(counts.open_turn());
    return counts;
}

std::size_t CountsInTurns::groups_at_once() const {
    std::size_t most = 1;
    for (const auto& turn : turns_) most = std::max(most, turn.groups.size());
    return most;
}

double CountsInTurns::mean_turn_ns() const {
    return turns_over_ ? static_cast<double>(over_ns_) / static_cast<double>(turns_over_)
                       : static_cast<double>(process::now_ns() - since_);
}

void CountsInTurns::lay_out(const CountingTarget& target) {
    const auto& pmus = known_core_pmus();
    const bool together = !whole_cpus(target) && !apart_;
    std::size_t slots = 0;
    for (std::size_t group = 0; group < groups_->size(); ++group)
        for (std::size_t index = 0; index < (*groups_)[group].events.size(); ++index) {
            const auto on = instances_of((*groups_)[group].events[index], target, pmus);
            const bool on_cpus = on.cpus != std::vector<int>{-1};
            Place place{slots, on.count()};
            if (on_cpus) place.cpus = on.cpus;
            if (!on_cpus && together) place.count = std::min<std::size_t>(1, place.count);
            if (on_cpus || !together) place.threads = on.threads;
            place.elsewhere = on_cpus && on.cpus.empty();
            slots += place.count;
            layout_.opened.push_back({group, index, 0, false});
            layout_.places.push_back(std::move(place));
        }
    kept_.assign(slots, {});
}

void CountsInTurns::close_turn() {
    add_turn(kept_);
    over_ns_ += process::now_ns() - since_;
    ++turns_over_;
    set_ = {};
    started_.clear();
    closed_ = true;
}

Result<> CountsInTurns::open_turn() {
    const auto target = TRY(look_());
    instances_.clear();
    if (whole_cpus(target))
        for (const int cpu : target.cpus) instances_.push_back({true, cpu});
    else
        for (const pid_t thread : target.threads) instances_.push_back({false, thread});
    set_ = TRY(open_(part_of(target, turns_[turn_]), turns_[turn_]));
    for (std::size_t event = 0; event < layout_.opened.size(); ++event) {
        const auto& opened = set_.opened()[event];
        if (std::ranges::find(turns_[turn_].groups, opened.group) != turns_[turn_].groups.end())
            layout_.opened[event] = opened;
    }
    closed_ = false;
    return {};
}

void CountsInTurns::note_start() {
    enabled_at_ = process::now_ns();
    if (since_ == 0) since_ = enabled_at_;
    started_.clear();
    for (const auto& place : layout_.places)
        for (const int cpu : place.cpus) started_[{true, cpu}] = process::now_ns();
    if (turns_[turn_].parts == 1) return;
    for (const auto& instance : instances_)
        if (!instance.is_cpu) started_[instance] = time_of_thread(instance.id);
}

Result<> CountsInTurns::enable() {
    if (closed_) TRY(open_turn());
    enabled_ = true;
    if (turns() > 1) note_start();
    return set_.enable();
}

Result<> CountsInTurns::disable() {
    auto off = set_.disable();
    // What is counted from here on is a part of its own: the other counters' time stops as well.
    if (turns() > 1 && enabled_) close_turn();
    since_ = 0;
    enabled_ = false;
    return off;
}

CountsInTurns::Times CountsInTurns::times_of_turn(const std::vector<RawCount>& counts) const {
    Times times;
    for (const Place& place : set_.layout().places)
        for (std::size_t index = 0; index < place.count; ++index) {
            const auto& ids = place.cpus.empty() ? place.threads : place.cpus;
            const std::size_t each = place.count / ids.size();
            std::uint64_t& time = times[{!place.cpus.empty(), ids[index / each]}];
            time = std::max(time, counts[place.first + index].enabled_ns);
        }
    for (const auto& [instance, started] : started_) {
        if (times.contains(instance)) continue;
        const std::uint64_t now = instance.is_cpu ? process::now_ns() : time_of_thread(instance.id);
        times[instance] = now > started ? now - started : 0;
    }
    return times;
}

std::size_t CountsInTurns::slot_of(std::size_t event, const Instance& instance) const {
    const Place& place = layout_.places[event];
    const auto& ids = place.cpus.empty() ? place.threads : place.cpus;
    if (ids.empty()) return place.first;
    const auto found = std::ranges::find(ids, instance.id);
    return found == ids.end() ? ~std::size_t{0} : place.first + static_cast<std::size_t>(found - ids.begin());
}

void CountsInTurns::add_turn(std::vector<RawCount>& sums) const {
    std::vector<RawCount> counts;
    set_.read(counts);
    const Times times = times_of_turn(counts);
    // The time in which counters were exchanged is time that was not counted.
    const std::uint64_t now = process::now_ns();
    const double stretch =
        now > enabled_at_ ? static_cast<double>(now - since_) / static_cast<double>(now - enabled_at_) : 1;
    const auto stretched = [&](std::uint64_t time) {
        return static_cast<std::uint64_t>(static_cast<double>(time) * stretch);
    };
    for (std::size_t event = 0; event < layout_.places.size(); ++event) {
        const Place& whole = layout_.places[event];
        if (whole.count == 0) continue;
        std::set<Instance> counted;
        if (!closed_) {
            const Place& open = set_.place(event);
            const auto& ids = open.cpus.empty() ? open.threads : open.cpus;
            for (std::size_t index = 0; index < open.count; ++index) {
                const Instance instance{!open.cpus.empty(), ids[index]};
                counted.insert(instance);
                const std::size_t slot = slot_of(event, instance);
                if (slot >= sums.size()) continue;
                const RawCount& count = counts[open.first + index];
                sums[slot].value += count.value;
                sums[slot].enabled_ns += stretched(count.enabled_ns);
                sums[slot].running_ns += count.running_ns;
                if (count.error) sums[slot].error = count.error;
            }
        }
        for (const auto& [instance, time] : times) {
            if (counted.contains(instance) || instance.is_cpu == whole.cpus.empty()) continue;
            if (const std::size_t slot = slot_of(event, instance); slot < sums.size())
                sums[slot].enabled_ns += stretched(time);
        }
    }
}

void CountsInTurns::read(std::vector<RawCount>& counts) const {
    if (turns() == 1) return set_.read(counts);
    counts = kept_;
    if (enabled_) add_turn(counts);
}

void CountsInTurns::next() {
    if (turns() == 1 || !enabled_) return;
    (void)disable();
    since_ = process::now_ns();  // what counts on does not count while its counters are exchanged
    turn_ = (turn_ + 1) % turns();
    if (turn_ == 0)
        if (const auto target = look_()) {
            auto turns = turns_of(*groups_, *target, files_left());
            if (turns.size() > 1) turns_ = std::move(turns);
        }
    (void)enable();
}

}  // namespace tmaprobe::counters::perf
