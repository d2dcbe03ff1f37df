#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::model::core {

/// Which extensions of the instruction set instructions need, and which a CPU has.
class Extensions {
  public:
    virtual ~Extensions() = default;
    /// Beyond what every CPU of the architecture has, as LLVM calls them; none for what it does not know.
    virtual std::vector<std::string> needed(const std::array<std::uint8_t, 16>& bytes, std::uint8_t length) = 0;
    /// Whether a CPU of LLVM's has it. Of one that it does not know nobody knows: it has.
    virtual bool has(const std::string& llvm_cpu, const std::string& feature) = 0;
};

/// Errors: unavailable as in make_target; bad_input for a broken table, and for a feature that LLVM does not know.
Result<std::unique_ptr<Extensions>> make_extensions(const events::Library& library, const std::string& architecture);

}  // namespace tmaprobe::model::core
