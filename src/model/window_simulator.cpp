#include "model/window_simulator.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>

#include "model/executed_runs.h"
#include "model/loop_times.h"
#include "model/told_branches.h"

namespace tmaprobe::model {
namespace {

using Clock = std::chrono::steady_clock;

/// What the steps of each region took.
class RegionSums {
  public:
    /// What came before was lead-in.
    void begin(std::uint64_t unknown_branches) {
        sums_.clear();
        memory_.fill(0);
        unknown_ = unknown_branches;
    }
    void add(std::uint32_t path, const core::PipelineFacts& took, const MemoryCounts& memory, std::uint64_t unknown) {
        Sum& sum = sums_[path];
        sum.core += took;
        for (std::size_t i = 0; i < memory.size(); ++i) sum.memory[i] += memory[i] - memory_[i];
        sum.unknown += unknown - unknown_;
        memory_ = memory;
        unknown_ = unknown;
    }
    std::vector<RegionFacts> facts() const {
        std::vector<RegionFacts> all;
        for (const auto& [path, sum] : sums_) {
            const auto named = core::named(sum.core);
            RegionFacts& one = all.emplace_back(RegionFacts{path, Facts(named.begin(), named.end())});
            for (std::size_t i = 0; i < sum.memory.size(); ++i)
                one.facts[memory_fact_names[i]] = static_cast<double>(sum.memory[i]);
            one.facts["branches_unknown"] = static_cast<double>(sum.unknown);
        }
        return all;
    }

  private:
    struct Sum {
        core::PipelineFacts core;
        MemoryCounts memory{};
        std::uint64_t unknown = 0;
    };
    std::map<std::uint32_t, Sum> sums_;
    MemoryCounts memory_{};  ///< until now
    std::uint64_t unknown_ = 0;
};

class NeverMispredicts final : public core::BranchOracle {
  public:
    core::Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override {
        return core::Foretold::right;
    }
    bool is_perfect() const override { return true; }
};

}  // namespace

double ns_since(Clock::time_point start) {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

double own_processor_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

std::size_t WindowSimulator::lead_in_of(std::size_t steps) {
    constexpr std::size_t longest_lead_in = 2000;
    return std::min(steps / 4, longest_lead_in);
}

WindowSimulator::WindowSimulator(core::Core& core, const ModelledCpu& geometry)
    : core_(core),
      geometry_(geometry),
      memory_(geometry, [this](std::uint64_t address) { return page_bytes(address); }, {}),
      predictor_(geometry.core),
      op_cache_(geometry.core) {
    memory_.ask_untouched([this](std::uint64_t address) { return untouched_.contains(addresses_.real(address)); });
}

void WindowSimulator::begin_moment(std::uint64_t resident_bytes) {
    if (log_) log_->moment(resident_bytes);
    memory_.assume_met(resident_bytes);
    after_branch_ = false;
}

void WindowSimulator::log_to(WindowLog& log) {
    log_ = &log;
    log_->pages([this](std::uint64_t address) { return page_bytes(address); });
}

void WindowSimulator::set_pages(trace::PageMap pages) {
    pages_ = std::move(pages);
    if (log_) log_->pages([this](std::uint64_t address) { return page_bytes(address); });
}

void WindowSimulator::learn(const trace::StaticInstruction& branch, std::uint64_t next) {
    const bool taken = next != branch.address + branch.length || branch.target == next;
    if (taken) predictor_.knows_target(branch);
    if (!branches_told_) predictor_.foretell(branch, taken, next);
}

void WindowSimulator::follow(const trace::StaticInstruction& instruction, const trace::Step& step) {
    if (addresses_.empty()) return follow_own(instruction, step);
    follow_own(own_instruction(step.instruction, instruction), addresses_.own(step));
}

const trace::StaticInstruction& WindowSimulator::own_instruction(std::uint32_t number,
                                                                 const trace::StaticInstruction& instruction) {
    if (own_instructions_.size() <= number) own_instructions_.resize(number + 1);
    auto& known = own_instructions_[number];
    using Halves = std::array<std::uint64_t, 2>;  // compared where they are, and not by a call for each instruction
    if (known.real_address != instruction.address ||
        std::bit_cast<Halves>(known.own.bytes) != std::bit_cast<Halves>(instruction.bytes))
        known = {instruction.address, addresses_.own(instruction)};
    return known.own;
}

void WindowSimulator::follow_own(const trace::StaticInstruction& instruction, const trace::Step& step) {
    if (log_) log_->step(instruction, step);
    if (after_branch_) learn(last_branch_, instruction.address);
    after_branch_ = instruction.branch;
    if (instruction.branch) last_branch_ = instruction;
    memory_.warm(instruction, step);
    op_cache_.fetch(instruction.address, instruction.length);
}

Result<WindowSimulator::Warmed> WindowSimulator::warm_up(trace::Translator& translator, const WarmUpLimits& limits) {
    const double start = own_processor_ns();
    const auto spent = [&] { return own_processor_ns() - start; };
    constexpr std::size_t trial = 1000;
    Warmed warmed;
    std::size_t chunk = trial;
    bool stepping = false;
    after_branch_ = false;
    const auto on_step = [&](const trace::StaticInstruction& instruction, const trace::Step& step) {
        follow(instruction, step);
    };
    const auto in_time = [&] { return (!limits.by_time && !stepping) || spent() < limits.budget_ns; };
    while (warmed.instructions < limits.most && (in_time() || (!stepping && warmed.instructions < limits.least))) {
        const std::uint64_t lines_before = memory_.lines_from_memory(), met_before = memory_.lines_met();
        auto traced = TRY(translator.steps(chunk, on_step));
        warmed.instructions += traced.steps;
        warmed.ended = traced.ended;
        warmed.ended_early = traced.ended_early;
        if (warmed.ended || warmed.ended_early != trace::EndedEarly::none) return warmed;
        // So is code that is translated anew each time.
        stepping = !translator.translates() || traced.code_changed;
        // Warm when what it touches comes from memory no more. One line in a chunk is too many: code that
        // works a thousand cycles on each line would seem to be warm on its first way through its data.
        const bool none_new = limits.until_all_met && memory_.lines_met() == met_before;
        if (warmed.instructions > limits.chunk && traced.steps >= limits.chunk &&
            (memory_.lines_from_memory() == lines_before || none_new))
            break;
        // Code that has to be stepped is slow: no chunk may take more than what is left of the budget.
        const double per_step =
            std::max(1.0, spent()) / static_cast<double>(std::max<std::size_t>(1, warmed.instructions));
        const double affordable = std::max(0.0, limits.budget_ns - spent()) / per_step;
        chunk = stepping ? std::clamp<std::size_t>(static_cast<std::size_t>(affordable), trial, limits.chunk)
                         : limits.chunk;
    }
    return warmed;
}

Result<WindowFacts> WindowSimulator::simulate(const trace::Trace& trace) {
    auto facts = TRY(simulate_with(trace, {}));
    return std::move(facts.front());
}

Result<> WindowSimulator::pass_over(const trace::Trace& trace) {
    TRY(simulate_with(trace, {}, false));
    return {};
}

Result<std::vector<WindowFacts>> WindowSimulator::simulate_with(const trace::Trace& trace,
                                                                const std::vector<ChangedMachine>& machines,
                                                                bool as_it_is) {
    if (addresses_.empty()) return simulate_own(trace, machines, as_it_is);
    // With a number for each that the window executes: a program may have hundreds of times as many.
    trace::Trace own;
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> number_here(trace.instructions.size(), none);
    for (const auto& step : trace.steps) {
        std::uint32_t& number = number_here[step.instruction];
        if (number != none) continue;
        number = static_cast<std::uint32_t>(own.instructions.size());
        own.instructions.push_back(own_instruction(step.instruction, trace.instructions[step.instruction]));
    }
    own.steps.reserve(trace.steps.size());
    for (const auto& step : trace.steps) {
        own.steps.push_back(addresses_.own(step));
        own.steps.back().instruction = number_here[step.instruction];
    }
    return simulate_own(own, machines, as_it_is);
}

void WindowSimulator::learn_branches(const trace::Trace& trace) {
    for (std::size_t i = 0; i + 1 < trace.steps.size(); ++i)
        if (const auto& instruction = trace.instructions[trace.steps[i].instruction]; instruction.branch)
            learn(instruction, trace.instructions[trace.steps[i + 1].instruction].address);
}

Result<std::vector<WindowFacts>> WindowSimulator::simulate_own(const trace::Trace& trace,
                                                               const std::vector<ChangedMachine>& machines,
                                                               bool as_it_is) {
    const auto start = Clock::now();
    note_known_wrong(trace);
    // Where the branch before the window went is known by now: a history without it is another one.
    if (after_branch_ && !trace.steps.empty())
        learn(last_branch_, trace.instructions[trace.steps[0].instruction].address);
    const BranchPredictor predictor_before = predictor_;
    std::vector<WindowFacts> all;
    if (as_it_is)
        all.push_back(TRY(simulate_varied(trace, {}, predictor_)));
    else
        learn_branches(trace);
    if (log_ && as_it_is && !trace.steps.empty()) all.front().logged.push_back(log_->window(trace, inside_));
    if (attributes_ && as_it_is) all.front().runs = executed_runs(trace, addresses_);
    calls_before_ = {};
    for (const ChangedMachine& machine : machines) {
        BranchPredictor predictor = predictor_before;
        all.push_back(TRY(simulate_varied(trace, machine, predictor)));
    }
    for (const trace::Step& step : trace.steps) {
        const trace::StaticInstruction& instruction = trace.instructions[step.instruction];
        memory_.warm(instruction, step);
        op_cache_.fetch(instruction.address, instruction.length);
    }
    if (!trace.steps.empty()) last_branch_ = trace.instructions[trace.steps.back().instruction];
    after_branch_ = last_branch_.branch;
    simulating_ns_ += ns_since(start);
    return all;
}

Result<WindowFacts> WindowSimulator::simulate_varied(const trace::Trace& trace, const ChangedMachine& machine,
                                                     BranchPredictor& predictor) {
    struct Kind {
        record::Variation what;
        MemoryVariation variation;
    };
    const MemoryGeometry& memory = geometry_.memory;
    using enum record::Variation;
    const Kind kinds[] = {{no_prefetchers, {0, false}},
                          {memory_latency_low, {memory.latency_low_ns, true}},
                          {memory_latency_high, {memory.latency_high_ns, true}},
                          {unknown_held, {0, true, Unknown::held_more}},
                          {unknown_missed, {0, true, Unknown::missed_more}},
                          {third_level_taken, {0, true, Unknown::likely, false}}};
    WindowFacts facts;
    facts.varied = machine.varied && varies_;
    // Each works on a copy of the state before the window; no more than one copy is there at a time.
    const BranchPredictor predictor_before = predictor;
    // What others leave of the third level depends on how fast the program is, and that on the third level.
    constexpr int rounds = 3;
    constexpr double same = 0.05;
    for (int round = 1;; ++round) {
        memory_.share_l3(cycles_an_instruction_);
        facts.base =
            TRY(simulate_once(trace, machine, MemorySystem(memory_), predictor, true,
                              {facts.slots, facts.accesses, &facts.loop, &facts.calls, &facts.events,
                               tells_times_ ? &facts.time_by_address : nullptr,
                               tells_times_ && tells_regions_ ? &facts.time_by_region : nullptr, &facts.regions}));
        const double taken = cycles_of(facts.base) / std::max(1.0, facts.base["instructions"]);
        const double before = memory_.part_of_l3(cycles_an_instruction_), now = memory_.part_of_l3(taken);
        cycles_an_instruction_ = taken;
        if (std::abs(now - before) <= same * before || facts.base["l2_misses"] == 0 || round == rounds) break;
        predictor = predictor_before;
    }
    // Code that lives in its first-level cache cannot tell the variations apart.
    const bool memory_matters =
        facts.base["l2_misses"] + facts.base["lines_prefetched"] > facts.base["instructions"] / 5000;
    const bool unknown_matters =
        facts.base["lines_unknown"] + facts.base["pages_unknown"] + facts.base["branches_unknown"] >
        facts.base["instructions"] / 5000;
    for (const Kind& kind : kinds) {
        if (!facts.varied) break;
        if (!kind.variation.third_level && !geometry_.l3_is_others) continue;
        if (kind.variation.unknown == Unknown::likely ? !memory_matters : !unknown_matters) continue;
        // Without prefetchers nothing at all is loaded before it is asked for.
        const bool wrong_paths_load = kind.variation.prefetch;
        MemorySystem varied = memory_;
        BranchPredictor varied_predictor = predictor_before;
        varied.vary(kind.variation);
        if (kind.variation.unknown == Unknown::missed_more) varied_predictor.unknown_is_missed();
        FactVariation variation{kind.what, {}, {}, {}};
        variation.facts = TRY(simulate_once(
            trace, machine, std::move(varied), varied_predictor, wrong_paths_load,
            {variation.slots, variation.accesses, nullptr, nullptr, nullptr, nullptr, nullptr, &variation.regions}));
        facts.variations.push_back(std::move(variation));
    }
    return facts;
}

Result<Facts> WindowSimulator::simulate_once(const trace::Trace& trace, const ChangedMachine& machine,
                                             MemorySystem memory, BranchPredictor& predictor, bool wrong_paths_load,
                                             Attributed attributed) {
    memory.idealize(machine.memory);
    memory.begin_window();
    std::optional<SlotTally> tally;
    const bool only_accesses = attributes_accesses_ && attributed.loop && !machine.core;
    if (attributes_ || only_accesses || attributed.times) tally.emplace(trace);
    if (tally && inside_) tally->only_in(inside_);
    const std::uint64_t unknown_before = predictor.unknown();
    RegionSums regions;
    std::optional<core::Execution> execution;
    if (attributes_ && attributed.loop) execution.emplace();
    core::Window window{0,
                        trace.steps.size(),
                        lead_in_.value_or(lead_in_of(trace.steps.size())),
                        [&] {
                            regions.begin(predictor.unknown());
                            memory.reset_facts();
                            if (tally) tally->reset();
                        },
                        tally ? &*tally : nullptr,
                        &op_cache_,
                        wrong_paths_load,
                        execution ? &*execution : nullptr,
                        machine.chosen,
                        {}};
    if (tells_regions_)
        window.on_regions = [&](std::uint32_t path, const core::PipelineFacts& took) {
            regions.add(path, took, memory.counts(), predictor.unknown());
        };
    NeverMispredicts perfect;
    ToldBranches told(trace, foretold_, predictor);
    core::BranchOracle& branches = machine.predicts_all ? static_cast<core::BranchOracle&>(perfect)
                                   : branches_told_     ? static_cast<core::BranchOracle&>(told)
                                                        : predictor;
    auto simulated = TRY((machine.core ? *machine.core : core_).simulate(trace, window, memory, branches));
    simulated_instructions_ += simulated.steps;
    if (attributed.times) *attributed.times = tally->time_by_address(addresses_);
    if (attributed.times_of_regions) *attributed.times_of_regions = tally->time_by_region(addresses_);
    if (only_accesses) attributed.accesses = tally->by_access(addresses_, pages_, allocation_at_);
    if (attributes_) {
        attributed.slots = tally->by_address(addresses_);
        attributed.accesses = tally->by_access(addresses_, pages_, allocation_at_);
        if (attributed.events) *attributed.events = tally->events_by_address(addresses_, window.lead_in);
        if (attributed.calls) *attributed.calls = tally->by_call(calls_before_, addresses_);
        if (execution)
            *attributed.loop =
                loop_times(trace, window.lead_in, tally->by_instruction(), *execution, core_.port_names(), addresses_);
    }
    const auto named = core::named(simulated.facts);
    Facts facts(named.begin(), named.end());
    for (const auto& [name, value] : memory.facts()) facts[name] += value;
    facts["branches_unknown"] = static_cast<double>(predictor.unknown() - unknown_before);
    if (tells_regions_ && attributed.regions) *attributed.regions = regions.facts();
    return facts;
}

void WindowSimulator::note_known_wrong(const trace::Trace& trace) {
    for (const KnownWrong& wrong : geometry_.known_wrong) {
        const auto is_one = [&](const trace::Step& step) {
            const auto& bytes = trace.instructions[step.instruction].bytes;
            return std::any_of(wrong.bytes.begin(), wrong.bytes.end(), [&](const auto& sequence) {
                return std::search(bytes.begin(), bytes.end(), sequence.begin(), sequence.end()) != bytes.end();
            });
        };
        const auto count = std::count_if(trace.steps.begin(), trace.steps.end(), is_one);
        if (count) known_wrong_[wrong.what] += static_cast<std::size_t>(count);
    }
}

}  // namespace tmaprobe::model
