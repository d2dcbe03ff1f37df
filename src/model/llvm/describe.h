#pragma once

// From an instruction's bytes to its descriptor, with LLVM as decoder and its scheduling model as data.

#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

#include <llvm/MC/MCInst.h>
#include "model/core/descriptor.h"
#include "model/core/simulate.h"
#include "model/llvm/schedule.h"
#include "model/llvm/target.h"

namespace tmaprobe::model::core {

class Describer {
  public:
    /// Errors: bad_input when a correction's expression is none, or names a resource that LLVM's model lacks.
    static Result<std::unique_ptr<Describer>> make(const LlvmTarget& target, const CoreParameters& parameters);
    /// `fused`: as the first half of a compare or test that fuses with the branch after it.
    InstructionDescriptor describe(const trace::StaticInstruction& instruction, bool fused);
    const Schedule& schedule() const { return schedule_; }

  private:
    struct CorrectionOf {
        std::regex instructions;
        Correction what;
        std::optional<std::vector<PortUse>> ports, store_ports;
    };
    Describer(const LlvmTarget& target, const CoreParameters& parameters);
    Result<> read_corrections();
    Result<std::vector<PortUse>> ports_of(const std::map<std::string, unsigned>& resources, Part part) const;
    void learn_memory_parts();
    bool decode(const std::vector<std::uint8_t>& bytes, std::uint64_t address, llvm::MCInst& out) const;
    void add_uses(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out) const;
    void add_definitions(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out) const;
    void add_ports(const Scheduled& facts, InstructionDescriptor& out) const;
    void set_load_latency(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out);
    void describe_piece(InstructionDescriptor& out) const;
    void set_slots(const Scheduled& facts, InstructionDescriptor& out) const;
    static void replace_ports(const std::vector<PortUse>& by, Part part, InstructionDescriptor& out);
    void correct(const llvm::MCInst& code, InstructionDescriptor& out);
    void fuse(InstructionDescriptor& out) const;
    const std::vector<std::size_t>& corrections_of(unsigned opcode);
    /// LLVM's latency of the same operation on registers; nothing when there is no such instruction.
    std::optional<unsigned> latency_on_registers(unsigned opcode);
    bool applies(const CorrectionOf& correction, const InstructionDescriptor& what) const;
    bool is_address_operand(const llvm::MCInst& code, const trace::StaticInstruction& what, unsigned operand) const;

    const LlvmTarget& target_;
    const CoreParameters& parameters_;
    bool x86_;
    Schedule schedule_;
    unsigned general_load_ = 4, vector_load_ = 6, wide_load_ = 7;  ///< LLVM's latencies of plain loads
    std::vector<std::uint64_t> load_ports_, store_ports_;
    std::vector<PortUse> plain_store_, plain_load_;
    std::unordered_map<std::string, unsigned> opcodes_;  ///< by LLVM's name
    std::vector<CorrectionOf> corrections_;
    std::unordered_map<unsigned, std::vector<std::size_t>> corrections_by_opcode_;
};

/// What LLVM does not say of x86 instructions: idioms, flags, sizes in memory, parts of registers.
void describe_x86(const LlvmTarget& target, const CoreParameters& parameters, const Schedule& schedule,
                  const llvm::MCInst& code, InstructionDescriptor& out);

}  // namespace tmaprobe::model::core
