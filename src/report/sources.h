#pragma once

#include <string>

#include "record/record.h"

namespace tmaprobe::report {

/// "measured", "modelled", "replayed" or "time only": how the counts of the record came about.
std::string source_word(const record::Record& record);

/// Where the counts come from and why, in words that every report shows first.
std::string source_sentence(const record::Record& record);

/// Whether the clock doubts the model of this run.
bool has_doubtful_clock(const record::Run& run);

/// What this machine's clock says of a model of it; empty: nothing. "modelled 1.31 s, measured 1.27 s: ..."
std::string clock_sentence(const record::Run& run);

/// CPU, number of CPUs, hypervisor and kernel of the machine that ran the tool.
std::string host_sentence(const record::Record& record);

}  // namespace tmaprobe::report
