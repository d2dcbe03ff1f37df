#include "counters/model/core/front_end.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tmaprobe::counters::model::core {
namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr double switch_to_decoders = 2;  // cycles lost when the op cache misses after a hit

}  // namespace

OpCache::OpCache(const CoreParameters& parameters)
    : ways_(std::max(1u, parameters.op_cache_ways)),
      sets_(std::max<std::size_t>(1, parameters.op_cache_windows / ways_)) {}

bool OpCache::touch(std::uint64_t window) {
    std::vector<std::uint64_t>& set = sets_[window % sets_.size()];
    const auto found = std::find(set.begin(), set.end(), window);
    const bool hit = found != set.end();
    if (hit) set.erase(found);
    set.insert(set.begin(), window);
    if (set.size() > ways_) set.pop_back();
    return hit;
}

FrontEnd::FrontEnd(const CoreParameters& parameters, InstructionPool& pool, const Trace& trace, const Window& window,
                   StoreForwarding& forwarding, MemoryTiming& memory, BranchOracle& branches, PipelineFacts& facts)
    : parameters_(parameters), pool_(pool), trace_(trace), window_(window), forwarding_(forwarding), memory_(memory), branches_(branches),
      facts_(facts), op_cache_(parameters), next_step_(window.first) {
    take_next();
}

bool FrontEnd::isAvailable(const llvm::mca::InstRef&) const {
    if (!current_) {
        supply_ = Supply::finished;
        return false;
    }
    if (waiting_for_branch_) {
        supply_ = Supply::wrong_path;
        return false;
    }
    if (cycle_ < available_at_) {
        supply_ = cycle_ < recovered_at_ ? Supply::recovering : Supply::fetching;
        return false;
    }
    if (current_->step.store && stores_in_flight_ >= parameters_.store_buffer) {
        supply_ = Supply::store_buffer_full;
        return false;
    }
    supply_ = Supply::ready;
    return checkNextStage({static_cast<unsigned>(first_index_ + in_flight_.size()), &current_->instruction});
}

bool FrontEnd::hasWorkToComplete() const { return current_ != nullptr; }

llvm::Error FrontEnd::execute(llvm::mca::InstRef& instruction) {
    Dynamic& dynamic = *current_;
    const std::size_t index = first_index_ + in_flight_.size();
    instruction = {static_cast<unsigned>(index), &dynamic.instruction};
    dynamic.dispatched_at = cycle_;
    in_flight_.push_back(std::move(current_));
    ++facts_.instructions;
    if (dynamic.fused) ++facts_.macro_fused;
    if (dynamic.step.load) ++facts_.loads;
    if (dynamic.step.store) {
        ++facts_.stores;
        ++stores_in_flight_;
    }
    if (dynamic.owner.what.prefetch) memory_.prefetch(dynamic.step.load, cycle_);
    if (dynamic.mispredicted) {
        waiting_for_branch_ = true;
        branch_index_ = index;
    }
    forwarding_.connect(dynamic);
    dispatch_times_.push_back(cycle_);
    if (dispatch_times_.size() > parameters_.micro_op_queue) dispatch_times_.pop_front();
    llvm::Error error = moveToTheNextStage(instruction);
    take_next();
    return error;
}

llvm::Error FrontEnd::cycleStart() {
    leave_store_buffer();
    // No latency is this long: an instruction that can never issue would keep the simulation for ever.
    constexpr std::uint64_t stuck_cycles = 100000;
    if (!in_flight_.empty() && cycle_ > last_retired_at_ + stuck_cycles)
        return llvm::createStringError("an instruction never finished");
    return llvm::Error::success();
}

llvm::Error FrontEnd::cycleEnd() {
    ++cycle_;
    if (++simulated_cycles_ >= window_.cycle_limit) stopped_ = true;
    if (!current_ && !finished_) {
        finished_ = true;
        if (on_finished) on_finished();
    }
    return llvm::Error::success();
}

std::uint64_t FrontEnd::quiet_cycles() const {
    const auto until = [&](std::uint64_t change) { return change > cycle_ ? change - cycle_ : 0; };
    switch (supply_) {
        case Supply::fetching: return until(available_at_);
        case Supply::recovering: return until(std::min(recovered_at_, available_at_));
        case Supply::store_buffer_full: return draining_.empty() ? 0 : until(draining_.front());
        default: return std::numeric_limits<std::uint64_t>::max();
    }
}

Dynamic* FrontEnd::in_flight(std::size_t index) {
    if (index < first_index_ || index - first_index_ >= in_flight_.size()) return nullptr;
    return in_flight_[index - first_index_].get();
}

void FrontEnd::on_executed(std::size_t index) {
    if (Dynamic* dynamic = in_flight(index)) dynamic->executed = true;
    if (!waiting_for_branch_ || index != branch_index_) return;
    waiting_for_branch_ = false;
    recovered_at_ = cycle_ + parameters_.recovery_cycles;
    fetched_until_ = static_cast<double>(cycle_ + parameters_.mispredict_penalty);
    available_at_ = std::max(available_at_, cycle_ + parameters_.mispredict_penalty);
}

void FrontEnd::on_retired(std::size_t index) {
    Dynamic* dynamic = in_flight(index);
    if (!dynamic) return;
    if (dynamic->step.store) {
        // Stores leave in order, at most one a cycle.
        const std::uint64_t owned = memory_.store(dynamic->step.store, dynamic->owner.what.address, cycle_);
        draining_.push_back(std::max(owned, draining_.empty() ? cycle_ : draining_.back() + 1));
    }
    last_retired_at_ = cycle_;
    // Retirement is in order.
    while (first_index_ <= index && !in_flight_.empty()) {
        InstructionPool::give_back(std::move(in_flight_.front()));
        in_flight_.pop_front();
        ++first_index_;
    }
}

void FrontEnd::leave_store_buffer() {
    while (!draining_.empty() && draining_.front() <= cycle_) {
        draining_.pop_front();
        --stores_in_flight_;
    }
}

bool FrontEnd::fuses_with_next(const StaticInstruction& first) const {
    if (!parameters_.fuses_compare_and_branch || !first.fusible_first || next_step_ + 1 >= trace_.steps.size()) return false;
    return trace_.instructions[trace_.steps[next_step_ + 1].instruction].conditional;
}

void FrontEnd::take_next() {
    while (!stopped_ && taken_steps() < window_.count) {
        const Step& step = trace_.steps[next_step_];
        const StaticInstruction& what = trace_.instructions[step.instruction];
        const bool fused = fuses_with_next(what);
        Template& chosen = pool_.get(what, fused);
        time_supply(chosen, step);
        if (!chosen.modelled) {
            ++facts_.unmodelled;
            ++facts_.instructions;
            ++next_step_;
            continue;
        }
        current_ = pool_.take(chosen);
        current_->step = step;
        current_->fused = fused;
        if (what.branch) predict(*current_);
        ++next_step_;
        if (taken_steps() == window_.lead_in && window_.on_counting) window_.on_counting();
        return;
    }
}

void FrontEnd::time_supply(const Template& what, const Step&) {
    const StaticInstruction& instruction = what.what;
    // The queue is full until the instruction that many before this one was dispatched.
    if (dispatch_times_.size() == parameters_.micro_op_queue)
        fetched_until_ = std::max(fetched_until_, static_cast<double>(dispatch_times_.front()));
    const std::uint64_t line = instruction.address / line_bytes;
    if (line != last_line_) {
        last_line_ = line;
        const unsigned extra = memory_.fetch(instruction.address, cycle_);
        if (extra) fetched_until_ = std::max(fetched_until_, static_cast<double>(cycle_)) + extra;
    }
    const std::uint64_t window = instruction.address / parameters_.op_cache_window_bytes;
    if (parameters_.op_cache_windows && window != last_window_) {
        last_window_ = window;
        const bool hit = op_cache_.touch(window);
        if (from_op_cache_ && !hit) fetched_until_ += switch_to_decoders;
        from_op_cache_ = hit;
    }
    const double micro_ops = std::max(1u, what.micro_ops);
    if (from_op_cache_)
        fetched_until_ += micro_ops / parameters_.op_cache_width;
    else
        fetched_until_ += std::max({1.0 / parameters_.decode_width, static_cast<double>(instruction.length) / parameters_.decode_bytes,
                                    micro_ops / parameters_.op_cache_width});
    if (what.microcoded) fetched_until_ = std::ceil(fetched_until_) + parameters_.microcode_penalty;
    available_at_ = static_cast<std::uint64_t>(fetched_until_);
}

void FrontEnd::predict(Dynamic& dynamic) {
    const StaticInstruction& branch = dynamic.owner.what;
    if (next_step_ + 1 >= trace_.steps.size()) return;
    const std::uint64_t next = trace_.instructions[trace_.steps[next_step_ + 1].instruction].address;
    const bool taken = next != branch.address + branch.length || branch.target == next;
    dynamic.mispredicted = branches_.mispredicts(branch, taken, next);
    ++facts_.branches;
    if (branch.conditional) ++facts_.conditional_branches;
    if (dynamic.mispredicted) ++facts_.mispredicts;
    if (taken) {
        ++facts_.branches_taken;
        fetched_until_ = std::ceil(fetched_until_);  // a taken branch ends its fetch group
        last_window_ = last_line_ = 0;
    }
}

}  // namespace tmaprobe::counters::model::core
