#include "model/core/front_end.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tmaprobe::model::core {
namespace {

/// Cycles to foretell a taken branch that is known at once.
double cycles_of(const trace::StaticInstruction& branch, bool goes_back, const events::BranchForetelling& foretelling) {
    if (branch.call) return foretelling.call_cycles;
    if (branch.returns) return foretelling.return_cycles;
    if (branch.indirect) return foretelling.indirect_cycles;
    if (goes_back && foretelling.taken_backward_cycles > 0) return foretelling.taken_backward_cycles;
    return foretelling.taken_cycles;
}

}  // namespace

Shares::Shares(unsigned divisor) : divisor_(divisor) {
    for (std::size_t number = 0; number < known_.size(); ++number)
        known_[number] = static_cast<double>(number) / divisor_;
}

FrontEnd::FrontEnd(const CoreParameters& parameters, MemoryTiming& memory, const OpCache* before)
    : parameters_(parameters),
      memory_(memory),
      op_cache_cycles_(parameters.op_cache_width),
      decode_cycles_(parameters.decode_bytes),
      dense_cycles_(parameters.dense_decode_bytes),
      missed_line_cycles_(parameters.missed_line_bytes),
      one_decoded_(1.0 / parameters.decode_width),
      op_cache_(before ? *before : OpCache(parameters)),
      loop_(parameters.loop_streaming),
      queue_(std::max(1u, parameters.micro_op_queue)),
      ahead_(parameters.foretelling.lines_ahead) {}

void FrontEnd::wait_until(double cycle, SlotCause cause) {
    if (cycle <= fetched_until_) return;
    fetched_until_ = cycle;
    late_ = cause;
    late_since_ = cycle;
}

void FrontEnd::enter_line(std::uint64_t address) {
    const std::uint64_t line = address / line_bytes;
    if (line == last_line_) return;
    const bool goes_on = std::exchange(last_line_, line) != ~0ull;
    if (goes_on && parameters_.foretelling.line_cycles > 0) {
        foretold_until_ += parameters_.foretelling.line_cycles;
        wait_until(foretold_until_, SlotCause::fetch_bandwidth);
    }
    fetch_line(address);
}

void FrontEnd::fetch_line(std::uint64_t address) {
    // Where nothing is foretold ahead, a line is asked for when it is fetched.
    if (parameters_.foretelling.lines_ahead)
        foretold_until_ = std::max(foretold_until_, static_cast<double>(ahead_.room_at()));
    else
        foretold_until_ = fetched_until_;
    const auto asked = static_cast<std::uint64_t>(std::min(foretold_until_, fetched_until_));
    const unsigned extra = memory_.fetch(address, asked);
    line_missed_ = extra > 0;
    if (extra) {
        line_came_ = std::max(static_cast<double>(asked + extra), line_came_ + parameters_.missed_line_cycles);
        wait_until(line_came_, SlotCause::instruction_cache);
    }
    ahead_.take(static_cast<std::uint64_t>(fetched_until_));
}

/// A short loop that goes round and round comes without being looked for.
bool FrontEnd::is_short_loop() const {
    return parameters_.op_cache_loop_rounds && rounds_ >= parameters_.op_cache_loop_rounds &&
           round_ <= parameters_.slot_width;
}

/// Long code in which no branch is taken leaves the op cache at a window of too many slots.
void FrontEnd::enter(const OpCache::Place& place) {
    bool hit = place.is_there;
    if (place.begins_window) {
        if (parameters_.op_cache_one_window && hit && place.goes_on && !is_short_loop())
            wait_until(window_began_ + 1, SlotCause::fetch_bandwidth);
        windows_in_order_ = place.goes_on ? windows_in_order_ + 1 : 0;
        if (windows_in_order_ <= parameters_.op_cache_straight_windows)
            too_dense_ = false;
        else if (parameters_.op_cache_window_slots && window_slots_ > parameters_.op_cache_window_slots)
            too_dense_ = true;
        window_slots_ = 0;
        window_began_ = fetched_until_;
    }
    hit = hit && !too_dense_;
    if (from_op_cache_ && !hit)
        wait_until(fetched_until_ + parameters_.decoder_switch_cycles, SlotCause::decoder_switch);
    from_op_cache_ = hit;
}

void FrontEnd::supply(const InstructionDescriptor& what, std::uint64_t address, bool at_hand, Admission& admission) {
    if (!at_hand && !parameters_.changes.perfect_front_end) fetch(what, address);
    admission.supplied = static_cast<std::uint64_t>(fetched_until_);
    admission.supply = late_;
}

void FrontEnd::fetch(const InstructionDescriptor& what, std::uint64_t address) {
    // The queue is full until the instruction that many before this one was renamed.
    if (const auto room = static_cast<double>(queue_.room_at()); room > fetched_until_) {
        fetched_until_ = room;
        late_ = SlotCause::fetch_bandwidth;
    }
    // What held an instruction up holds up those that come out in the cycles after it, until the queue has filled
    // again.
    if (late_ != SlotCause::fetch_bandwidth && fetched_until_ > late_since_ + 1) late_ = SlotCause::fetch_bandwidth;
    if (loop_.streams()) {
        fetched_until_ += op_cache_cycles_.of(what.slots);
        return;
    }
    // Of a repeated string instruction the next piece: nothing is fetched for it, and one comes a cycle.
    if (what.moves_string && address == last_address_) {
        constexpr unsigned short_pieces = 2;  // of 32 bytes
        const unsigned longer = ++string_pieces_ == short_pieces ? parameters_.longer_string_cycles : 0;
        wait_until(fetched_until_ + 1 + longer, SlotCause::microcode);
        return;
    }
    enter_line(address);
    enter_line(address + what.length - 1u);  // it may end in the next
    last_address_ = address;
    if (const OpCache::Place place = op_cache_.fetch(address, what.length); place.begins_entry) enter(place);
    window_slots_ += what.slots;
    since_taken_ += what.slots;
    const double from_cache =
        op_cache_cycles_.of(std::max<unsigned>(what.slots, what.fused ? 0 : what.op_cache_entries));
    const double decoded =
        from_op_cache_ ? from_cache
        // Decoders that wait for bytes take what has come.
        : too_dense_ ? dense_cycles_.of(what.length)
                     : std::max({what.fused ? 0.0 : one_decoded_, decode_cycles_.of(what.length), from_cache});
    // Of a line that the first level does not have, bytes come more slowly than they are decoded.
    const bool comes_slowly = line_missed_ && !from_op_cache_ && parameters_.missed_line_bytes;
    const double came = comes_slowly ? missed_line_cycles_.of(what.length) : 0;
    fetched_until_ += std::max(decoded, came);
    if (came > decoded) {
        late_ = SlotCause::instruction_cache;
        late_since_ = fetched_until_;
    }
    if (const unsigned longer = what.fetch_cycles + (from_op_cache_ ? 0u : what.decode_cycles))
        fetched_until_ += longer;
    from_sequencer_ |= what.microcoded || what.moves_string;
    if (what.microcoded) wait_until(std::ceil(fetched_until_) + parameters_.microcode_penalty, SlotCause::microcode);
    if (what.moves_string) {
        string_pieces_ = 0;
        wait_until(std::ceil(fetched_until_) + parameters_.repeated_string_cycles, SlotCause::microcode);
    }
}

void FrontEnd::renamed(std::uint64_t cycle, unsigned slots) {
    if (slots) queue_.take(cycle);
}

bool FrontEnd::leaves_loop(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    // Nor is a loop sent that has something from the sequencer in it, or a branch through a register or memory.
    const bool none = from_sequencer_ || (branch.indirect && !branch.returns);
    if (taken) from_sequencer_ = false;
    return loop_.leaves(branch.address, taken, target, none ? LoopStream::too_many : windows_in_order_ + 1);
}

void FrontEnd::took_branch(const trace::StaticInstruction& branch, std::uint64_t target, TargetKnown known) {
    if (parameters_.changes.perfect_front_end) return;
    if (loop_.streams()) {
        wait_until(block_began_ + 1.0 / parameters_.loop_streaming.branches_a_cycle, SlotCause::taken_branch);
        block_began_ = foretold_until_ = fetched_until_;
        return;
    }
    const events::BranchForetelling& foretelling = parameters_.foretelling;
    const bool goes_back = target <= branch.address;
    const bool follows = last_taken_ / line_bytes == branch.address / line_bytes;
    rounds_ = last_taken_ == branch.address ? rounds_ + 1 : 0;
    last_taken_ = branch.address;
    round_ = std::exchange(since_taken_, 0);
    // It ends its fetch group.
    const bool ends_group =
        from_op_cache_ ? goes_back || !foretelling.fetches_past_forward : !parameters_.decodes_past_taken;
    if (ends_group) wait_until(std::ceil(fetched_until_), SlotCause::taken_branch);
    last_line_ = ~0ull;
    const bool later =
        known == TargetKnown::second_level || (follows && !goes_back && foretelling.second_in_line_later);
    // What puts a direction or a target right knows these targets, too.
    const bool put_right = std::exchange(put_right_, false);
    const double least = later && !put_right ? foretelling.second_level_least_cycles : 0;
    foretold_until_ +=
        std::max(cycles_of(branch, goes_back, foretelling) + (later ? foretelling.second_level_cycles : 0), least);
    const bool is_far = (branch.address ^ target) >> foretelling.near_target_bits;
    if (is_far && !branch.returns) foretold_until_ += foretelling.far_target_cycles;
    wait_until(foretold_until_, SlotCause::taken_branch);
    if (known != TargetKnown::decoder) return;
    restart(static_cast<std::uint64_t>(fetched_until_) + foretelling.unknown_target_cycles);
}

void FrontEnd::foretold_late(const trace::StaticInstruction& branch, bool taken, bool confirmed) {
    if (parameters_.changes.perfect_front_end) return;
    put_right_ = taken && !confirmed;
    const events::BranchForetelling& foretelling = parameters_.foretelling;
    const double of_target = confirmed ? foretelling.confirmed_target_cycles : foretelling.late_target_cycles;
    foretold_until_ += branch.conditional ? foretelling.late_direction_cycles
                       : branch.call      ? std::max(0.0, of_target - foretelling.late_hidden_by_call)
                                          : of_target;
    wait_until(foretold_until_, SlotCause::taken_branch);
}

void FrontEnd::restart(std::uint64_t cycle) {
    wait_until(static_cast<double>(cycle), SlotCause::resteer);
    foretold_until_ = fetched_until_;
}

}  // namespace tmaprobe::model::core
