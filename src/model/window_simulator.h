#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/slot_attribution.h"
#include "model/branch_predictor.h"
#include "model/call_follower.h"
#include "model/core/simulate.h"
#include "model/mapping.h"
#include "model/memory_system.h"
#include "model/modelled_cpu.h"
#include "model/own_addresses.h"
#include "model/slot_tally.h"
#include "model/window_facts.h"
#include "model/window_log.h"
#include "record/kinds.h"
#include "trace/page_map.h"
#include "trace/translator.h"
#include "trace/untouched_pages.h"

namespace tmaprobe::model {

/// Of the clock on the wall.
double ns_since(std::chrono::steady_clock::time_point start);

/// How far caches and predictors are filled before a window.
struct WarmUpLimits {
    std::size_t chunk = 50000, most = 6000000;  ///< instructions
    std::size_t least = 500000;  ///< even when the budget is spent: on a slow machine a cold window is no answer
    double budget_ns = 270e6;    ///< of processor time here
    bool by_time = true;         ///< false: the budget counts only where code has to be stepped
    bool until_all_met = false;  ///< warm, too, where no line is met for the first time: more than the caches hold
};

/// For what has been warmed up before.
constexpr WarmUpLimits warm_up_again() { return {50000, 1000000, 200'000, 45e6}; }

/// A core and memory as they might be: what the same windows would take on these.
struct ChangedMachine {
    core::Core* core = nullptr;  ///< null: as it is
    IdealMemory memory;
    bool predicts_all = false;                          ///< no branch is mispredicted
    bool varied = true;                                 ///< simulated with what is not known changed, too
    const std::vector<std::uint8_t>* chosen = nullptr;  ///< core::Window::chosen
};

/// Processor time of this process: on a busy machine a budget of it still does the same work.
double own_processor_ns();

/// The target's caches, translation buffers and predictors as they are after all that was executed so far, and its
/// core.
class WindowSimulator {
  public:
    WindowSimulator(core::Core& core, const ModelledCpu& geometry);

    /// Windows from now on tell the slots of each instruction.
    void attribute_slots() { attributes_ = true; }
    /// They tell them of what is in these paths of regions (trace::Step::regions) alone.
    void attribute_only_in(std::function<bool(std::uint32_t path)> inside) { inside_ = std::move(inside); }
    /// They tell which data they wait for, as they are, and nothing of that with variations or changes.
    void attribute_accesses() { attributes_accesses_ = true; }
    /// They tell which calls allocated these data.
    void tell_allocations(SlotTally::AllocationAt allocation_at) { allocation_at_ = std::move(allocation_at); }
    /// They tell how much time each instruction takes.
    void tell_times() { tells_times_ = true; }
    /// MemorySystem::order_frames().
    void order_frames() { memory_.order_frames(); }
    /// They tell what the steps of each region took.
    void tell_regions() { tells_regions_ = true; }
    /// Whether they are simulated with what is not known changed, too, and not only as they are.
    void vary_windows(bool varies) { varies_ = varies; }
    /// Which branches are mispredicted is told with each window, and the predictor learns from none.
    void branches_are_told() { branches_told_ = true; }
    /// Of each step of the next window, not 0: it is a branch that is mispredicted (branches_are_told()).
    void set_foretold(std::vector<core::Foretold> steps) { foretold_ = std::move(steps); }
    /// So many steps of the next windows lead to where counting begins, and not lead_in_of().
    void set_lead_in(std::size_t steps) { lead_in_ = steps; }
    void usual_lead_in() { lead_in_.reset(); }
    /// How many of a window's steps lead to where counting begins.
    static std::size_t lead_in_of(std::size_t steps);
    /// Whoever hears of all that follows; it must outlive this.
    void log_to(WindowLog& log);

    /// What follows is another moment, of a program with so many bytes in memory (MemorySystem::assume_met()).
    void begin_moment(std::uint64_t resident_bytes);
    /// Which pages the addresses from now on are in.
    void set_pages(trace::PageMap pages);
    const trace::PageMap& pages() const { return pages_; }
    /// Of the moment that begins: what the kernel clears when it is first touched.
    void set_untouched(trace::UntouchedPages untouched) { untouched_ = std::move(untouched); }
    const OwnAddresses& addresses() const { return addresses_; }
    /// From now on addresses are those of OwnAddresses: the same in each run.
    void set_addresses(OwnAddresses addresses) { addresses_ = std::move(addresses); }

    /// One instruction that was executed, in order: caches and predictors see it.
    void follow(const trace::StaticInstruction& instruction, const trace::Step& step);

    /// What a warm-up did.
    struct Warmed {
        std::size_t instructions = 0;
        bool ended = false;
        trace::EndedEarly ended_early = trace::EndedEarly::none;
    };
    /// Lets the traced thread execute until what it touches is known to the caches, or the limits are reached.
    Result<Warmed> warm_up(trace::Translator& translator, const WarmUpLimits& limits);
    std::uint64_t lines_from_memory() const { return memory_.lines_from_memory(); }

    /// What is known of calls when the next window begins. None from then on.
    void calls_before(CallFollower follower) { calls_before_ = std::move(follower); }
    /// Simulates a window, which then is part of what was executed.
    Result<WindowFacts> simulate(const trace::Trace& trace);
    /// A window is simulated by somebody else, and part of what was executed here.
    Result<> pass_over(const trace::Trace& trace);
    /// As simulate(), and then the facts of it on each of these machines. Not `as_it_is`: only on these.
    Result<std::vector<WindowFacts>> simulate_with(const trace::Trace& trace,
                                                   const std::vector<ChangedMachine>& machines, bool as_it_is = true);

    std::size_t simulated_instructions() const { return simulated_instructions_; }  ///< variations included
    double simulating_ns() const { return simulating_ns_; }
    /// Which of the target's known errors the windows have run into, with how many executions.
    const std::map<std::string, std::size_t>& known_wrong() const { return known_wrong_; }

  private:
    /// An instruction at its own address, and at the real one that it has that of.
    struct OwnInstruction {
        std::uint64_t real_address = 0;
        trace::StaticInstruction own;
    };
    /// Where slots of instructions go.
    struct Attributed {
        counters::InstructionSlots& slots;
        counters::AccessSlots& accesses;
        std::optional<counters::LoopTimes>* loop = nullptr;
        counters::CallPaths* calls = nullptr;
        counters::InstructionEvents* events = nullptr;
        std::map<std::uint64_t, double>* times = nullptr;  ///< whatever the cause
        std::map<std::uint32_t, std::map<std::uint64_t, double>>* times_of_regions = nullptr;
        std::vector<RegionFacts>* regions = nullptr;
    };
    void follow_own(const trace::StaticInstruction& instruction, const trace::Step& step);
    Result<std::vector<WindowFacts>> simulate_own(const trace::Trace& trace,
                                                  const std::vector<ChangedMachine>& machines, bool as_it_is);
    /// Branches of a window that is not simulated as it is.
    void learn_branches(const trace::Trace& trace);
    const trace::StaticInstruction& own_instruction(std::uint32_t number, const trace::StaticInstruction& instruction);
    void learn(const trace::StaticInstruction& branch, std::uint64_t next);
    void note_known_wrong(const trace::Trace& trace);
    /// On one machine, as it is and with each variation. `predictor`: as it is before the window; learns from it.
    Result<WindowFacts> simulate_varied(const trace::Trace& trace, const ChangedMachine& machine,
                                        BranchPredictor& predictor);
    Result<Facts> simulate_once(const trace::Trace& trace, const ChangedMachine& machine, MemorySystem memory,
                                BranchPredictor& predictor, bool wrong_paths_load, Attributed attributed);
    std::uint64_t page_bytes(std::uint64_t address) const { return pages_.page_bytes(addresses_.real(address)); }

    core::Core& core_;
    const ModelledCpu& geometry_;
    WindowLog* log_ = nullptr;
    trace::PageMap pages_;
    trace::UntouchedPages untouched_;
    OwnAddresses addresses_;
    std::vector<OwnInstruction> own_instructions_;
    MemorySystem memory_;
    BranchPredictor predictor_;
    double cycles_an_instruction_ = 1;  ///< of the last window
    core::OpCache op_cache_;
    CallFollower calls_before_;
    trace::StaticInstruction last_branch_;
    bool after_branch_ = false, attributes_ = false, attributes_accesses_ = false;
    bool tells_times_ = false, tells_regions_ = false, varies_ = true, branches_told_ = false;
    std::vector<core::Foretold> foretold_;
    std::function<bool(std::uint32_t path)> inside_;  ///< whose slots are told; empty: all
    SlotTally::AllocationAt allocation_at_;
    std::optional<std::size_t> lead_in_;
    std::map<std::string, std::size_t> known_wrong_;
    std::size_t simulated_instructions_ = 0;
    double simulating_ns_ = 0;
};

}  // namespace tmaprobe::model
