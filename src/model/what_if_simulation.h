#pragma once

#include "model/what_if.h"

namespace tmaprobe::model {

/// what_if() in a build that has LLVM.
Result<record::WhatIf> simulate_what_if(const std::string& trace_file, const WhatIfCpu& what,
                                        const WhatIfQuestions& questions, unsigned threads);

/// traced_instructions() in a build that has LLVM.
Result<std::vector<TracedInstruction>> list_traced_instructions(const std::string& trace_file);

}  // namespace tmaprobe::model
