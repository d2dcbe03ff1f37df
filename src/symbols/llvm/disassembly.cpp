#include "symbols/llvm/disassembly.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <initializer_list>

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

namespace tmaprobe::symbols {
namespace {

#if defined(__aarch64__)
constexpr auto own_architecture = llvm::Triple::aarch64;
constexpr const char* own_triple = "aarch64-unknown-linux-gnu";
constexpr const char* features = "+all";
#else
constexpr auto own_architecture = llvm::Triple::x86_64;
constexpr const char* own_triple = "x86_64-unknown-linux-gnu";
constexpr const char* features = "";
#endif

constexpr std::size_t longest_instruction = 16;

/// LLVM gives these as instructions of their own.
bool is_prefix(llvm::StringRef text) {
    constexpr const char* prefixes[] = {"lock", "rep", "repe", "repne", "data16", "notrack", "xacquire", "xrelease"};
    return std::ranges::any_of(prefixes, [&](const char* prefix) { return text == prefix; });
}

}  // namespace

struct Disassembly::Target {
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> disassembler;
    std::unique_ptr<llvm::MCInstPrinter> printer;
    std::unique_ptr<llvm::MCInstrAnalysis> analysis;

    /// The size of the first instruction; 0: there is none.
    std::uint64_t decode(llvm::StringRef bytes, std::uint64_t address, llvm::MCInst& instruction) const {
        std::uint64_t size = 0;
        const llvm::ArrayRef<std::uint8_t> code(bytes.bytes_begin(), std::min(bytes.size(), longest_instruction));
        const auto status = disassembler->getInstruction(instruction, size, code, address, llvm::nulls());
        return status == llvm::MCDisassembler::Success ? size : 0;
    }
};

Disassembly::Disassembly(llvm::Triple::ArchType architecture) {
    if (architecture != own_architecture) return;
    TMAPROBE_LLVM_TARGET(TargetInfo)();
    TMAPROBE_LLVM_TARGET(TargetMC)();
    TMAPROBE_LLVM_TARGET(Disassembler)();
    std::string message;
    const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(own_triple, message);
    if (!llvm_target) return;
    const llvm::Triple triple(own_triple);
    auto target = std::make_unique<Target>();
    target->registers.reset(llvm_target->createMCRegInfo(own_triple));
    target->assembly.reset(llvm_target->createMCAsmInfo(*target->registers, own_triple, llvm::MCTargetOptions()));
    target->instructions.reset(llvm_target->createMCInstrInfo());
    target->subtarget.reset(llvm_target->createMCSubtargetInfo(own_triple, "", features));
    target->context = std::make_unique<llvm::MCContext>(triple, target->assembly.get(), target->registers.get(),
                                                        target->subtarget.get());
    target->disassembler.reset(llvm_target->createMCDisassembler(*target->subtarget, *target->context));
    target->printer.reset(
        llvm_target->createMCInstPrinter(triple, 0, *target->assembly, *target->instructions, *target->registers));
    target->analysis.reset(llvm_target->createMCInstrAnalysis(target->instructions.get()));
    if (!target->disassembler || !target->printer || !target->analysis) return;
    target->printer->setPrintImmHex(true);
    target->printer->setPrintBranchImmAsAddress(true);
    target_ = std::move(target);
}

Disassembly::~Disassembly() = default;

std::string Disassembly::text(llvm::StringRef bytes, std::uint64_t address) const {
    if (!target_) return {};
    llvm::MCInst instruction;
    const std::uint64_t size = target_->decode(bytes, address, instruction);
    if (!size) return {};
    std::string text;
    llvm::raw_string_ostream out(text);
    // x86 counts a branch's distance from its end, and the printer from the address that it is told.
    const std::uint64_t distance_from = own_architecture == llvm::Triple::x86_64 ? address + size : address;
    target_->printer->printInst(&instruction, distance_from, "", *target_->subtarget, out);
    out.flush();
    std::ranges::replace(text, '\t', ' ');
    const std::string trimmed = llvm::StringRef(text).trim().str();
    if (is_prefix(trimmed) && size < bytes.size())
        return trimmed + " " + this->text(bytes.substr(size), address + size);
    return trimmed;
}

std::optional<Disassembly::Ways> Disassembly::ways(llvm::StringRef bytes, std::uint64_t address) const {
    if (!target_) return std::nullopt;
    llvm::MCInst instruction;
    Ways ways;
    ways.size = target_->decode(bytes, address, instruction);
    if (!ways.size) return std::nullopt;
    const llvm::MCInstrDesc& what = target_->instructions->get(instruction.getOpcode());
    ways.goes_on = !what.isBarrier() && !what.isReturn() && !what.isTrap();
    std::uint64_t target = 0;
    if (what.isBranch() && !what.isIndirectBranch() &&
        target_->analysis->evaluateBranch(instruction, address, ways.size, target))
        ways.target = target;
    return ways;
}

}  // namespace tmaprobe::symbols
