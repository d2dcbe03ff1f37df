#pragma once

#include <string>
#include <vector>

#include "record/what_if.h"

namespace tmaprobe::report {

/// "no branch were mispredicted": goes on after "if".
std::string words_of(record::Change change);
/// All that an answer is about: "no branch were mispredicted and all pages were 2 MiB".
std::string words_of(const record::WhatIfAnswer& answer);

/// "heap, 64 MiB", "what a.out has zeroed, 8 MiB".
std::string words_of(const record::MappingPages& mapping);

/// A line to paste, or words, by which such memory gets large pages.
std::string way_to_large_pages(const record::MappingPages& mapping);

/// What takes the most slots of these shares: "its own work", or the cause that loses the most.
std::string bottleneck_words(const record::CauseSlots& slots);

/// "1.62", with as many digits as tell it from 1.
std::string times_text(double speed_up);

/// "1.55..1.70".
std::string bounds_text(const record::SpeedUp& speed_up);

/// What would win the most, in a sentence; empty where nothing was asked.
std::string what_if_sentence(const record::WhatIf& what_if);

/// Whether it is neither worth a row nor known to be: within half a percent of no difference, bounds included.
bool makes_no_difference(const record::SpeedUp& speed_up);

}  // namespace tmaprobe::report
