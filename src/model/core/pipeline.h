#pragma once

// The core: each instruction of a trace in turn, from fetch to retirement.

#include <cstdlib>
#include <utility>
#include <vector>

#include "model/core/front_end.h"
#include "model/core/ports.h"
#include "model/core/store_commit.h"
#include "model/core/store_forwarding.h"
#include "model/core/trace_descriptors.h"
#include "model/core/wrong_path.h"

namespace tmaprobe::model::core {

constexpr unsigned issue_after_renaming = 1;  ///< cycles

/// How micro-ops wait for their ports.
struct SchedulerSizes {
    std::vector<unsigned> entries;      ///< of each
    std::vector<std::uint64_t> groups;  ///< ports, of which one is chosen when a micro-op is renamed, if it is at all
    std::uint64_t taking_one = 0;       ///< ports of those that take one operation a cycle at renaming
    PortChoice choice;
};

/// One window. For each executed instruction it works out when it is renamed, issued, done and retired; nothing is done
/// for a cycle in which nothing happens.
class Pipeline {
  public:
    Pipeline(const CoreParameters& parameters, const SchedulerSizes& schedulers, Descriptors& descriptors,
             const trace::Trace& trace, const Window& window, MemoryTiming& memory, BranchOracle& branches);
    Simulated run();

  private:
    /// When the parts of one instruction are done.
    struct Times {
        /// Of what waits for nothing.
        explicit Times(std::uint64_t at)
            : renamed(at),
              addressed(at + issue_after_renaming),
              issued(addressed),
              loaded(addressed),
              operated(addressed),
              stored(addressed),
              done(addressed) {}

        std::uint64_t renamed, addressed, issued, loaded, operated, stored, done;
        Operands operands;
        std::uint64_t port_waited = 0;  ///< for a port, on the way to done
        SlotCause waits = SlotCause::dependency;
        bool missed = false;
        std::uint32_t forwarded_from = StepTimes::nothing;  ///< the store whose data came after the address
    };

    /// From when on a value is taken to be there that is not, and until when; `from` 0: nobody takes it so.
    struct Hope {
        std::uint64_t from = 0, until = 0;
    };

    bool fuses_with_next(const InstructionDescriptor& first, std::size_t step) const;
    void execute(std::size_t step);
    Admission admit(const InstructionDescriptor& what, std::uint64_t address);
    Times time(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t renamed);
    /// Takes no time, and what it accesses is brought to the first level all the same.
    Times at_once(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t renamed);
    void load(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t issued, Times& times);
    void look_ahead();
    bool prefetches(const InstructionDescriptor& what, const trace::Step& step) const;
    void prefetch_ahead(const InstructionDescriptor& what, const trace::Step& step, const Times& times);
    void issue_again(const InstructionDescriptor& what, const Loaded& answer, Times& times);
    void hope_for(const InstructionDescriptor& what, std::uint64_t issued);
    void hope_for_operands(const InstructionDescriptor& what, std::uint64_t earliest);
    void try_in_vain(std::uint64_t ports);
    void hand_on_hope(const InstructionDescriptor& what, std::uint64_t renamed);
    std::uint64_t issue_port(const InstructionDescriptor& what, std::uint64_t ready);
    bool is_named_alike(const RecentStore& store, const InstructionDescriptor& load) const;
    unsigned forward_cycles(const InstructionDescriptor& load, const RecentStore& from) const;
    std::uint64_t when_failed(const InstructionDescriptor& load, const RecentStore& from) const;
    bool is_aliased(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t issued) const;
    void operate(const InstructionDescriptor& what, Times& times);
    void store(const InstructionDescriptor& what, Times& times);
    void define(const InstructionDescriptor& what, const Times& times);
    /// The cycles in which it is done and retires.
    std::pair<std::uint64_t, std::uint64_t> retire(const InstructionDescriptor& what, const trace::Step& step,
                                                   const Times& times);
    StoreCommit::Left commit(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t retired);
    void note_execution(const InstructionDescriptor& what, const Times& times);
    void branch(const InstructionDescriptor& what, std::size_t step, const Times& times);
    /// Of what is about to be executed.
    Operands operands(const InstructionDescriptor& what) const;
    /// What has been added to a register since it was written, with what `what` adds to it.
    int sum_at_renaming(const InstructionDescriptor& what) const {
        if (!what.constant) return 0;
        const Unit source = what.source();
        return (source == no_unit ? 0 : added_[source]) + what.constant;
    }
    /// True of what adds nothing, too.
    bool sum_fits(const InstructionDescriptor& what) const {
        return !what.constant || std::abs(sum_at_renaming(what)) < static_cast<int>(parameters_.adds_constants_below);
    }
    std::uint64_t room_in(std::uint16_t pools, std::uint64_t earliest, unsigned entries);
    bool bound_to_scheduler(const PortUse& use) const;
    bool takes_turn(const PortUse& use) const;
    Occupancy& roomy_one(std::uint16_t pools, std::uint64_t cycle);
    std::uint64_t take_ports(const InstructionDescriptor& what, Part part, std::uint64_t ready, std::uint64_t renamed);
    void count(const InstructionDescriptor& what);

    const CoreParameters& parameters_;
    const trace::Trace& trace_;
    const Window& window_;
    MemoryTiming& memory_;
    BranchOracle& branches_;
    TraceDescriptors descriptors_;
    PipelineFacts facts_, at_start_;
    Timeline timeline_{facts_};
    Retirement retirement_;
    Slots slots_;
    FrontEnd front_end_;
    Ports ports_;
    std::vector<Occupancy> schedulers_;
    const std::uint64_t taking_one_;
    InOrder load_buffer_, store_buffer_, general_registers_, vector_registers_;
    InOrder stores_retire_;  ///< beside `store_buffer_`: when each retires
    StoreCommit leaving_{parameters_};
    StoreForwarding forwarding_;
    ForwardingPredictor foretold_;
    KnownPaths paths_;
    NamedPlaces places_;
    PagePlaces page_places_;
    SameAddress same_address_;
    WrongPath wrong_path_;
    std::vector<std::uint64_t> ready_;      ///< of each unit
    std::vector<std::uint32_t> producers_;  ///< of each unit: the step
    std::uint32_t step_ = 0;                ///< that is executed
    std::vector<std::int16_t> added_;       ///< to each unit at renaming, since it was written
    std::vector<std::uint8_t> alike_;       ///< which group of instructions wrote each unit; 0: none
    std::vector<Hope> hopes_;               ///< of each unit, where the core issues in vain
    Hope hoped_;                            ///< of what is executed: when it would have been there
    std::uint64_t hoped_until_ = 0;         ///< no hope of a unit is for later
    std::uint64_t memory_order_ = 0;        ///< no access is issued before: a locked operation or a fence
    std::uint64_t serialized_until_ = 0, memory_done_ = 0;
    bool stack_moved_ = false, last_alone_ = false;
    bool at_hand_ = false, never_waits_ = false;  ///< the instruction that is executed (CoreChanges)
    /// How often an instruction loaded so far, and missed.
    struct Loads {
        unsigned all = 0, missed = 0;
        bool prefetched = false;  ///< from now on
    };
    std::vector<Loads> loads_;          ///< by instruction, where any are to be prefetched
    std::vector<std::uint64_t> ahead_;  ///< of each step: what the same instruction loads later on; 0: not known
};

}  // namespace tmaprobe::model::core
