#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "events/key.h"
#include "events/table.h"
#include "metrics/evaluate.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Which run and group a count was taken in.
using GroupId = std::pair<int, int>;

/// What a recorded event counts: as its name says, unless its encoding says otherwise. For events that lost their key
/// on the way through a file.
events::EventKey recorded_key(const events::Table& table, const record::Event& event);

/// The event's own key, where it has one; else the recorded one.
events::EventKey key_of(const events::Table& table, const record::Event& event);

/// The counted events of one record, found by what they count.
class CountIndex {
  public:
    /// `times_are_optional`: for a source that may give no times, where only a note says "not counted".
    CountIndex(const events::Table& table, const std::vector<record::Event>& events, bool times_are_optional);

    /// Why an event that was asked for has no count that means anything; empty: it has, or was not asked for.
    std::string_view refused(const events::EventKey& key) const;

    /// Groups that hold this event, in the order counted.
    std::vector<GroupId> groups_with(const events::EventKey& key) const;

    /// The groups from which these events are best taken, in order of preference: one that has them all, else as
    /// few runs as possible, and as few groups of each. Empty: none of them was counted.
    std::vector<GroupId> groups_for(const std::vector<events::EventKey>& keys) const;

    /// The event's count in the first of these groups that has it, else its first; null when it was not counted at all.
    const record::Event* find(const events::EventKey& key, const std::vector<GroupId>& preferred) const;

    /// The count as the formulas take it.
    metrics::Count count_of(const record::Event& event) const;

  private:
    using Events = std::multimap<events::EventKey, const record::Event*>;
    using Range = std::pair<Events::const_iterator, Events::const_iterator>;
    Range counts_of(const events::EventKey& key) const;
    Events events_;
    std::map<events::EventKey, std::string_view> refused_;
    std::set<std::string> counted_in_all_modes_;  ///< PMUs with an event that names no privilege level
    bool times_are_optional_ = false;
};

/// Notes "impossible_zero" for counts of cycles, instructions and slots that are 0 although they were counted for a
/// while.
void flag_impossible_zeros(const events::Table& table, std::vector<record::Event>& events);

}  // namespace tmaprobe::judge
