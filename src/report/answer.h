#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

/// What was measured, in one line; of several runs that are no one experiment, the first.
std::string subject_of(const record::Record& record);

/// The answers to what was asked, a sentence or a few each, the first the most wanted: what less than a measurement is
/// stands in each. Of several runs that are no one experiment, the first run's.
std::vector<std::string> answers(const record::Record& record);

/// The same of one run among several.
std::string answer_of(const record::Record& record, const record::Run& run);

}  // namespace tmaprobe::report
