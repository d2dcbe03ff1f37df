#include "model/core/front_end.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model::core {
namespace {

constexpr double switch_to_decoders = 2;  // cycles lost when the op cache misses after a hit

constexpr double foretold_ahead = 16;  // cycles: by how far the predictor can be ahead of fetching

}  // namespace

FrontEnd::FrontEnd(const CoreParameters& parameters, MemoryTiming& memory, const OpCache* before)
    : parameters_(parameters),
      memory_(memory),
      op_cache_(before ? *before : OpCache(parameters.op_cache_windows, parameters.op_cache_ways)),
      queue_(std::max(1u, parameters.micro_op_queue)) {}

void FrontEnd::wait_until(double cycle, SlotCause cause) {
    if (cycle <= fetched_until_) return;
    fetched_until_ = cycle;
    late_ = cause;
    late_since_ = cycle;
}

void FrontEnd::supply(const InstructionDescriptor& what, std::uint64_t address, bool at_hand, Admission& admission) {
    if (at_hand || parameters_.changes.perfect_front_end) {
        admission.supplied = static_cast<std::uint64_t>(fetched_until_);
        admission.supply = late_;
        return;
    }
    // The queue is full until the instruction that many before this one was renamed.
    if (const auto room = static_cast<double>(queue_.room_at()); room > fetched_until_) {
        fetched_until_ = room;
        late_ = SlotCause::fetch_bandwidth;
    }
    // What held an instruction up holds up those that come out in the cycles after it, until the queue has filled
    // again.
    if (late_ != SlotCause::fetch_bandwidth && fetched_until_ > late_since_ + 1) late_ = SlotCause::fetch_bandwidth;
    if (const std::uint64_t line = address / line_bytes; line != last_line_) {
        last_line_ = line;
        const auto now = static_cast<std::uint64_t>(fetched_until_);
        if (const unsigned extra = memory_.fetch(address, now))
            wait_until(static_cast<double>(now + extra), SlotCause::instruction_cache);
    }
    if (address <= last_address_) last_window_ = ~0ull;  // entered again
    last_address_ = address;
    if (parameters_.op_cache_windows) {
        if (const std::uint64_t window = address / parameters_.op_cache_window_bytes; window != last_window_) {
            last_window_ = window;
            const bool hit = op_cache_.touch(window);
            if (from_op_cache_ && !hit) wait_until(fetched_until_ + switch_to_decoders, SlotCause::decoder_switch);
            from_op_cache_ = hit;
        }
    }
    const double from_cache =
        static_cast<double>(std::max<unsigned>(what.slots, what.fused ? 0 : what.op_cache_entries)) /
        parameters_.op_cache_width;
    fetched_until_ += from_op_cache_
                          ? from_cache
                          : std::max({(what.fused ? 0.0 : 1.0) / parameters_.decode_width,
                                      static_cast<double>(what.length) / parameters_.decode_bytes, from_cache});
    if (const unsigned longer = what.fetch_cycles + (from_op_cache_ ? 0u : what.decode_cycles))
        fetched_until_ += longer;
    if (what.microcoded) wait_until(std::ceil(fetched_until_) + parameters_.microcode_penalty, SlotCause::microcode);
    admission.supplied = static_cast<std::uint64_t>(fetched_until_);
    admission.supply = late_;
}

void FrontEnd::renamed(std::uint64_t cycle, unsigned slots) {
    if (slots) queue_.take(cycle);
}

void FrontEnd::took_branch(const trace::StaticInstruction& branch) {
    if (parameters_.changes.perfect_front_end) return;
    const double ends_at = std::ceil(fetched_until_);  // it ends its fetch group
    const bool calls = parameters_.call_cycles && (branch.call || branch.returns);
    foretold_until_ = std::max(foretold_until_ + (calls ? parameters_.call_cycles : 1.0), ends_at - foretold_ahead);
    wait_until(std::max(ends_at, foretold_until_), SlotCause::taken_branch);
    last_window_ = last_line_ = ~0ull;
}

void FrontEnd::restart(std::uint64_t cycle) {
    wait_until(static_cast<double>(cycle), SlotCause::resteer);
    foretold_until_ = fetched_until_;
}

}  // namespace tmaprobe::model::core
