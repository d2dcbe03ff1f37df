#pragma once

// LLVM's description of one CPU, for the other files of this folder only.

#include <initializer_list>
#include <memory>
#include <string>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include "base/result.h"

namespace tmaprobe::model::core {

/// Base, scale, index, displacement and segment of an x86 operand in memory.
inline constexpr unsigned x86_memory_operands = 5;

/// Whether a name of LLVM's starts with one of these.
bool any_prefix(llvm::StringRef name, std::initializer_list<const char*> prefixes);
/// Whether it is one of these.
bool any_of(llvm::StringRef name, std::initializer_list<const char*> names);

/// The pieces of an LLVM target that decoding and scheduling need, owned together because they refer
/// to one another.
struct LlvmTarget {
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCInstrAnalysis> analysis;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> disassembler;
};

/// `architecture` "x86_64" or "aarch64"; `cpu` as LLVM names it. Errors: unavailable when LLVM was built
/// without the architecture or does not know the CPU.
Result<std::unique_ptr<LlvmTarget>> make_target(const std::string& architecture, const std::string& cpu);

}  // namespace tmaprobe::model::core
