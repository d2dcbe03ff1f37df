#pragma once

#include "model/model.h"

namespace tmaprobe::model {

/// make_source in a build that has LLVM.
Result<std::unique_ptr<counters::CounterSource>> make_model_source(const events::Library& library,
                                                                   const events::Table& target,
                                                                   const machine::Host& host,
                                                                   const ModelOptions& options);

}  // namespace tmaprobe::model
