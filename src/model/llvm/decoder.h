#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace tmaprobe::model::core {

/// A disassembler for the architecture. Errors: unavailable as in make_target.
Result<std::unique_ptr<trace::Decoder>> make_decoder(const std::string& architecture);

/// Reads an arm64 load's or store's address operand from its encoding; false when it is another
/// instruction. LLVM does not mark address operands on this architecture.
bool arm64_memory(std::uint32_t word, trace::StaticInstruction& out);

}  // namespace tmaprobe::model::core
