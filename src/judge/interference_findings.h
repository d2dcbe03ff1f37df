#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::judge {

/// What one state gave over the rounds; both of the same length, at least one.
struct Outcomes {
    std::vector<record::Record> records;  ///< of one run each
    std::vector<double> ns_per_op;
};

/// The run of the round whose time is the middle one, with statistics over all rounds put in. `alone`: the outcomes of
/// the state "alone", round by round; a state is compared with it within each round in which both had enough
/// undisturbed repetitions, and not at all where there are fewer than three such rounds: extra["not_compared"] says why
/// then.
record::Run summarize_state(const std::string& state, const Outcomes& outcomes, const Outcomes& alone);

/// What a state's numbers say, in words; a run made by summarize_state, not of "alone".
std::string state_sentence(const record::Run& run);

/// For the steps of one control ("l3", "mb") among `runs`: the least share from which on, at every greater
/// one too, the victim's median is within 5% of alone. Empty when no run is a step of it.
std::string allocation_sentence(const std::vector<record::Run>& runs, record::AllocationControl control);

}  // namespace tmaprobe::judge
