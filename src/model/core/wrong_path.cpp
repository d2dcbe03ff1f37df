#include "model/core/wrong_path.h"

#include <algorithm>
#include <utility>

namespace tmaprobe::model::core {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0} / 4;  ///< and some latencies more is still no overflow
constexpr unsigned place_bits = 16;

}  // namespace

WrongPath::WrongPath(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
                     DescriptorOf descriptor)
    : parameters_(parameters),
      trace_(trace),
      memory_(memory),
      descriptor_(std::move(descriptor)),
      went_(2 * trace.instructions.size(), 0),
      met_at_(trace.instructions.size(), 0) {}

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
        for (const Definition& definition : descriptor_(step).definitions) ready_[definition.unit] = never;
}

void WrongPath::follow(std::size_t step, bool taken, std::uint64_t renamed, std::uint64_t resolved,
                       const std::vector<std::uint64_t>& ready) {
    const std::size_t wrong = went_[2 * trace_.steps[step].instruction + (taken ? 0 : 1)];
    if (!wrong || resolved <= renamed) return;
    const std::uint64_t in_time = (resolved - renamed) * parameters_.slot_width;
    const std::size_t room = std::min<std::uint64_t>(in_time, parameters_.reorder_buffer);
    const Meeting meeting = find_meeting(wrong, step + 1, room);
    if (!meeting.found) return;
    ready_ = ready;
    forget_written(wrong, meeting.wrong);
    forget_written(step + 1, meeting.right);
    std::size_t slots = 0;
    for (std::size_t place = 0; place < meeting.wrong; ++place) slots += descriptor_(wrong + place).slots;
    for (std::size_t at = step + 1 + meeting.right; at < trace_.steps.size() && slots < room; ++at) {
        const InstructionDescriptor& what = descriptor_(at);
        if (what.serializes) return;
        slots += what.slots;
        execute(at, renamed + 1 + slots / parameters_.slot_width, resolved);
    }
}

std::uint64_t WrongPath::known(const InstructionDescriptor& what, Part part, std::uint64_t from) const {
    for (const Use& use : what.uses)
        if (use.part == part) from = std::max(from, use.usable_from(ready_[use.unit]));
    return from;
}

void WrongPath::execute(std::size_t step, std::uint64_t supplied, std::uint64_t resolved) {
    const InstructionDescriptor& what = descriptor_(step);
    const std::uint64_t address = trace_.steps[step].load;
    std::uint64_t loaded = supplied;
    if (what.loads) {
        loaded = known(what, Part::load, supplied);
        if (loaded < resolved && address)
            loaded += what.load_latency + memory_.load_in_vain(address, loaded);
        else
            loaded = never;
    }
    const std::uint64_t operated = known(what, Part::operation, loaded);
    for (const Definition& definition : what.definitions) {
        if (definition.as_soon_as_source && what.moves_stack) continue;
        std::uint64_t& ready = ready_[definition.unit];
        if (!what.executes)
            ready = operated;
        else
            ready = (definition.part == Part::load ? known(what, Part::load, supplied) : operated) + definition.latency;
    }
}

}  // namespace tmaprobe::model::core
