#pragma once

// LLVM's scheduling model of a CPU in flat tables: ports, schedulers, registers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <llvm/MC/MCInst.h>
#include "model/core/descriptor.h"
#include "model/core/simulate.h"
#include "model/llvm/target.h"

namespace tmaprobe::model::core {

struct Scheduler {
    std::uint64_t ports = 0;
    unsigned entries = 0;
    bool takes_one = false;  ///< operation a cycle
};

/// What LLVM has of one instruction.
struct Scheduled {
    std::vector<PortUse> ports;  ///< without what LLVM adds for the groups around a port
    unsigned micro_ops = 1, latency = 1;
    const llvm::MCSchedClassDesc* description = nullptr;
};

class Schedule {
  public:
    Schedule(const LlvmTarget& target, const CoreParameters& parameters);
    /// Nothing where LLVM has no figures.
    std::optional<Scheduled> of(const llvm::MCInst& code) const;
    /// Of a definition, by its place among the explicit and implicit ones.
    unsigned latency(const Scheduled& facts, unsigned definition) const;
    /// Of an instruction whose facts do not depend on its operands.
    std::optional<unsigned> plain_latency(unsigned opcode) const;
    int advance(const Scheduled& facts, unsigned use) const;
    /// The units of a register; none for what no dependency goes through.
    const std::vector<Unit>& units(unsigned llvm_register) const { return units_[llvm_register]; }
    bool is_general(unsigned llvm_register) const { return general_[llvm_register]; }
    bool is_general_unit(Unit unit) const { return unit < general_units_; }
    bool is_vector_unit(Unit unit) const { return unit >= general_units_ && unit < carry_; }
    /// Of the stack or of its frame.
    bool is_pointer(unsigned llvm_register) const {
        return llvm_register == stack_pointer_ || llvm_register == frame_pointer_;
    }
    bool is_vector(unsigned llvm_register) const { return vector_[llvm_register]; }
    /// By the end of LLVM's name, or the whole name of a unit that it lacks; several, with + between them, are taken
    /// together. 0: one of them is not there.
    std::uint64_t ports_of(const std::string& resource) const;
    /// Whether it is a unit that LLVM lacks, for which nothing waits but for a port and it together.
    bool is_unit(std::uint64_t ports) const { return first_unit_ < most_ports && ports >> first_unit_ != 0; }
    /// The schedulers in which what goes to one of these ports may wait, a bit each.
    std::uint16_t pools_of(std::uint64_t ports) const;
    /// By number.
    const std::vector<std::string>& port_names() const { return port_names_; }
    const std::vector<Scheduler>& schedulers() const { return schedulers_; }
    /// The ports of each of the schedulers that the CPU's data adds to LLVM's; `single`: each port by itself.
    std::vector<std::uint64_t> groups(bool single) const;
    /// The geometry's figures with LLVM's where it has none.
    CoreParameters completed(CoreParameters parameters) const;
    Unit carry() const { return carry_; }
    Unit other_flags() const { return other_flags_; }
    unsigned stack_pointer() const { return stack_pointer_; }

  private:
    void number_ports(const std::vector<std::string>& units);
    void number_units(bool x86);
    void divide(const std::vector<events::PortScheduler>& schedulers);

    const LlvmTarget& target_;
    const llvm::MCSchedModel& model_;
    std::vector<std::uint64_t> ports_;     ///< of each resource
    std::vector<std::string> port_names_;  ///< the units that LLVM lacks come last
    std::size_t first_unit_ = most_ports;  ///< of these
    std::vector<Scheduler> schedulers_;
    std::uint16_t divided_ = 0;  ///< those that are parts of one of LLVM's, by their ports
    std::vector<std::vector<Unit>> units_;
    std::vector<bool> general_, vector_;
    Unit carry_ = 0, other_flags_ = 0;
    unsigned stack_pointer_ = 0, frame_pointer_ = 0;
    Unit general_units_ = 0;  ///< those before are of general registers
};

}  // namespace tmaprobe::model::core
