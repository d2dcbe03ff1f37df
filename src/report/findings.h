#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

/// Whether a metric's flag says that its value is not to be relied on; the other says how it came about.
bool is_doubt(std::string_view flag);

/// What the run is bound by, in one or two sentences that follow from its tree: the deepest node of the
/// marked path, its share, and how far it can be believed. Says so when there is no tree or no clear answer.
std::string verdict(const record::Record& record, const record::Run& run);

/// Something to do next; `command` is to be typed as it stands and may be empty.
struct NextStep {
    std::string what, command;
};

/// At most three things to do next that follow from this tree and this machine.
std::vector<NextStep> next_steps(const record::Record& record, const record::Run& run);

/// Which page mode won by how much, from the record's comparison or from the times of its runs; empty
/// when the runs are no page modes of the same work.
std::vector<std::string> comparison_sentences(const record::Record& record);

}  // namespace tmaprobe::report
