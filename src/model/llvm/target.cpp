#include "model/llvm/target.h"

#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

// The build links the components of the host's own architecture only.
#if defined(__aarch64__)
#define TMAPROBE_LLVM_TARGET(what) LLVMInitializeAArch64##what
#else
#define TMAPROBE_LLVM_TARGET(what) LLVMInitializeX86##what
#endif

extern "C" {
void TMAPROBE_LLVM_TARGET(TargetInfo)();
void TMAPROBE_LLVM_TARGET(TargetMC)();
void TMAPROBE_LLVM_TARGET(Disassembler)();
}

namespace tmaprobe::model::core {

bool any_prefix(llvm::StringRef name, std::initializer_list<const char*> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

bool any_of(llvm::StringRef name, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

Result<std::unique_ptr<LlvmTarget>> make_target(const std::string& architecture, const std::string& cpu) {
    TMAPROBE_LLVM_TARGET(TargetInfo)();
    TMAPROBE_LLVM_TARGET(TargetMC)();
    TMAPROBE_LLVM_TARGET(Disassembler)();

    const std::string triple = architecture + "-unknown-linux-gnu";
    std::string message;
    const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!llvm_target)
        return fail(ErrorCode::unavailable, "this build cannot model " + architecture + " code",
                    "code is modelled on a machine of its own architecture: build and run tmaprobe there");

    auto target = std::make_unique<LlvmTarget>();
    target->registers.reset(llvm_target->createMCRegInfo(triple));
    const llvm::MCTargetOptions options;
    target->assembly.reset(llvm_target->createMCAsmInfo(*target->registers, triple, options));
    target->instructions.reset(llvm_target->createMCInstrInfo());
    // Names are checked before createMCSubtargetInfo sees them: it would print on stderr.
    target->subtarget.reset(llvm_target->createMCSubtargetInfo(triple, "", ""));
    if (!target->subtarget->isCPUStringValid(cpu))
        return fail(ErrorCode::unavailable, "LLVM has no scheduling model called '" + cpu + "'");
    // All of SVE, crypto and the like decode on Arm whatever the CPU is; x86 decodes everything anyway.
    target->subtarget.reset(llvm_target->createMCSubtargetInfo(triple, cpu, architecture == "aarch64" ? "+all" : ""));
    target->analysis.reset(llvm_target->createMCInstrAnalysis(target->instructions.get()));
    target->context = std::make_unique<llvm::MCContext>(llvm::Triple(triple), target->assembly.get(),
                                                        target->registers.get(), target->subtarget.get());
    target->disassembler.reset(llvm_target->createMCDisassembler(*target->subtarget, *target->context));
    if (!target->disassembler || !target->analysis || !target->subtarget->getSchedModel().hasInstrSchedModel())
        return fail(ErrorCode::unavailable, "LLVM has no scheduling model for '" + cpu + "'");
    return target;
}

}  // namespace tmaprobe::model::core
