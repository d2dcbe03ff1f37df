#include "symbols/call_stacks.h"

#include "symbols/llvm/unwind.h"
#include "symbols/read_apart.h"

namespace tmaprobe::symbols {

Result<std::vector<std::vector<std::uint64_t>>> call_stacks(const std::vector<StackToWalk>& stacks,
                                                            double patience_seconds) {
    using Calls = std::vector<std::uint64_t>;
    return read_apart<Calls>("the callers", patience_seconds,
                             [&]() -> Result<std::vector<Calls>> { return unwind(stacks); });
}

}  // namespace tmaprobe::symbols
