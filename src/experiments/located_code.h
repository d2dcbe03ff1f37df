#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/what_if.h"
#include "record/record.h"
#include "symbols/locations.h"

namespace tmaprobe::experiments {

/// The instructions of a trace and what their symbols say of them.
class LocatedCode {
  public:
    /// Modules whose symbols cannot be read have addresses alone.
    explicit LocatedCode(std::vector<model::TracedInstruction> instructions);
    /// What the user calls FILE:LINE, FILE:FIRST-LAST, a function, or an address as the module's symbols (or, of code
    /// of no file, the process) count. Errors: bad_usage when no traced instruction is meant, with what comes near.
    Result<std::vector<model::CodeInFile>> called(const std::string& name) const;
    /// The instructions of a line that a record lists.
    std::vector<model::CodeInFile> of_line(const record::CodePlace& line) const;

  private:
    template <class Choose>
    std::vector<model::CodeInFile> chosen(Choose&& choose) const;

    std::vector<model::TracedInstruction> instructions_;
    std::vector<symbols::Location> located_;  ///< of each
};

}  // namespace tmaprobe::experiments
