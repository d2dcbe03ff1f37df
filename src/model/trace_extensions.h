#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "model/llvm/extensions.h"
#include "model/trace_file.h"
#include "record/what_if.h"

namespace tmaprobe::model {

/// What of a trace's instructions not every CPU of its kind has.
class TraceExtensions {
  public:
    /// Errors: those of executed_instructions() and make_extensions().
    static Result<TraceExtensions> of(const TraceFile& trace, const events::Library& library);

    /// The most executed first.
    std::vector<record::InstructionSetUse> all() const;
    /// Of these, those that a CPU of LLVM's lacks.
    std::vector<record::InstructionSetUse> lacking(const std::string& llvm_cpu);
    /// Files whose code has any of it; whether a loader chose is not looked at.
    std::vector<record::ChosenByCpu> by_file() const;

  private:
    std::unique_ptr<core::Extensions> extensions_;
    std::map<std::string, double> by_feature_, by_file_;
};

}  // namespace tmaprobe::model
