#pragma once

#include "counters/model/model.h"

namespace tmaprobe::counters::model {

/// make_source in a build that has LLVM.
Result<std::unique_ptr<CounterSource>> make_model_source(const events::Library& library, const events::Table& target,
                                                         const machine::Host& host, const Options& options);

}  // namespace tmaprobe::counters::model
