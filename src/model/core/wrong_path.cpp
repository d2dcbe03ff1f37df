#include "model/core/wrong_path.h"

#include <algorithm>

namespace tmaprobe::model::core {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0} / 4;  ///< and some latencies more is still no overflow
constexpr unsigned place_bits = 16;

}  // namespace

WrongPath::WrongPath(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
                     TraceDescriptors& descriptors)
    : parameters_(parameters),
      trace_(trace),
      memory_(memory),
      descriptors_(descriptors),
      went_(2 * trace.instructions.size(), 0),
      met_at_(trace.instructions.size(), 0),
      ready_(most_units, 0) {}

void WrongPath::note(std::size_t step, bool taken) {
    went_[2 * trace_.steps[step].instruction + (taken ? 1 : 0)] = step + 1;
}

WrongPath::Meeting WrongPath::find_meeting(std::size_t wrong, std::size_t right, std::size_t most) {
    ++searches_;
    const std::size_t on_wrong = std::min(most, right - wrong);
    for (std::size_t place = 0; place < on_wrong; ++place) {
        std::uint64_t& met = met_at_[trace_.steps[wrong + place].instruction];
        if (met >> place_bits != searches_) met = searches_ << place_bits | place;
    }
    const std::size_t on_right = std::min(most, trace_.steps.size() - right);
    for (std::size_t place = 0; place < on_right; ++place) {
        const std::uint64_t met = met_at_[trace_.steps[right + place].instruction];
        if (met >> place_bits == searches_) return {met & ((std::uint64_t{1} << place_bits) - 1), place, true};
    }
    return {};
}

void WrongPath::forget_written(std::size_t from, std::size_t count) {
    for (std::size_t step = from; step < from + count; ++step)
        for (const Definition& definition : descriptors_.at(step).definitions) ready_[definition.unit] = never;
}

void WrongPath::follow(std::size_t step, bool taken, std::uint64_t renamed, std::uint64_t resolved,
                       std::span<const std::uint64_t> ready) {
    const std::size_t wrong = went_[2 * trace_.steps[step].instruction + (taken ? 0 : 1)];
    if (!wrong || resolved <= renamed) return;
    const std::uint64_t in_time = (resolved - renamed) * parameters_.slot_width;
    const std::size_t room = std::min<std::uint64_t>(in_time, parameters_.reorder_buffer);
    const Meeting meeting = find_meeting(wrong, step + 1, room);
    if (!meeting.found) return;
    std::ranges::copy(ready, ready_.begin());
    forget_written(wrong, meeting.wrong);
    forget_written(step + 1, meeting.right);
    std::size_t slots = 0;
    for (std::size_t place = 0; place < meeting.wrong; ++place) slots += descriptors_.at(wrong + place).slots;
    std::uint64_t supplied = renamed + 1, next_cycle_at = parameters_.slot_width;
    for (std::size_t at = step + 1 + meeting.right; at < trace_.steps.size() && slots < room; ++at) {
        const InstructionDescriptor& what = descriptors_.at(at);
        if (what.serializes) return;
        slots += what.slots;
        for (; slots >= next_cycle_at; next_cycle_at += parameters_.slot_width) ++supplied;
        if (what.loads || what.definitions.count) execute(what, trace_.steps[at].load, supplied, resolved);
    }
}

void WrongPath::execute(const InstructionDescriptor& what, std::uint64_t address, std::uint64_t supplied,
                        std::uint64_t resolved) {
    const Operands operands = operands_of(what, [&](const Use& use) { return ready_[use.unit]; });
    const std::uint64_t addressed = std::max(supplied, operands.address);
    std::uint64_t loaded = supplied;
    if (what.loads) {
        loaded = addressed;
        if (loaded < resolved && address)
            loaded += what.load_latency + memory_.load_in_vain(address, loaded);
        else
            loaded = never;
    }
    const std::uint64_t operated = std::max(loaded, operands.operation);
    for (const Definition& definition : what.definitions) {
        if (definition.as_soon_as_source && what.moves_stack) continue;
        std::uint64_t& ready = ready_[definition.unit];
        if (!what.executes)
            ready = operated;
        else
            ready = (definition.part == Part::load ? addressed : operated) + definition.latency;
    }
}

}  // namespace tmaprobe::model::core
