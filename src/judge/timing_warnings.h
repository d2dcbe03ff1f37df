#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::judge {

/// Too few clean repetitions to compare with anything. False where nothing was judged: a command, an emulator.
bool too_few_clean(const record::Time& time);

/// "1 of 7 repetitions was undisturbed, and it takes 3: in 6 the thread waited ...".
std::string why_too_few(const record::Time& time);

/// What to do about it, in one sentence.
std::string what_to_do(const record::Time& time);

/// The causes of several runs together, the most frequent first.
std::vector<record::DisturbedBy> merge_causes(const std::vector<record::DisturbedBy>& one,
                                              const std::vector<record::DisturbedBy>& other);

/// Says what a careful reader must know of the timing: noise, disturbance with its causes and their sizes. `whose`
/// stands before it where a record has several runs: "--pages 2m: ".
void add_timing_warnings(const record::Time& time, const std::string& whose, std::vector<record::Warning>& warnings);

}  // namespace tmaprobe::judge
