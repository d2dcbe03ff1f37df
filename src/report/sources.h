#pragma once

#include <string>

#include "record/record.h"

namespace tmaprobe::report {

/// "measured", "modelled", "replayed" or "time only": how the counts of the record came about.
std::string source_word(const record::Record& record);

/// What every report says before its first figure: "MODELLED for GenuineIntel-6-CF-2, DOUBTFUL by the clock". All that
/// makes a figure less than measured is in it; source_sentence() says more.
std::string source_status(const record::Record& record);

/// Where the counts come from and why, in full sentences that begin with the status.
std::string source_sentence(const record::Record& record);

/// Whether the clock doubts the model of this run.
bool has_doubtful_clock(const record::Run& run);

/// Whether its windows are of other code than took its time.
bool is_modelled_elsewhere(const record::Run& run);

/// Either of these.
bool has_doubtful_model(const record::Run& run);

/// What this machine's clock says of a model of it; empty: nothing. "modelled 1.31 s, measured 1.27 s: ..."
std::string clock_sentence(const record::Run& run);

/// CPU, number of CPUs, hypervisor and kernel of the machine that ran the tool.
std::string host_sentence(const record::Record& record);

}  // namespace tmaprobe::report
