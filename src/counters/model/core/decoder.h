#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "counters/model/trace.h"

namespace tmaprobe::counters::model::core {

/// A disassembler for the architecture. Errors: unavailable as in make_target.
Result<std::unique_ptr<Decoder>> make_decoder(const std::string& architecture);

/// Reads an arm64 load's or store's address operand from its encoding; false when it is another
/// instruction. LLVM does not mark address operands on this architecture.
bool arm64_memory(std::uint32_t word, StaticInstruction& out);

}  // namespace tmaprobe::counters::model::core
