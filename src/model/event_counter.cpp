#include "model/event_counter.h"

#include <algorithm>
#include <utility>

#include "model/core/descriptor.h"

namespace tmaprobe::model {
namespace {

constexpr std::uint64_t small_page = 4096, no_key = ~std::uint64_t{0};
constexpr std::uint64_t default_pages = 64;

std::uint64_t pages_of_first_level(const ModelledCpu& cpu) {
    for (const TlbGeometry& tlb : cpu.tlbs)
        if (tlb.level == 1 && tlb.holds_data()) return tlb.entries;
    return default_pages;
}

}  // namespace

EventCounter::Sets::Sets(std::uint64_t entries, std::uint64_t ways)
    : sets_(std::max<std::uint64_t>(1, entries / std::max<std::uint64_t>(1, ways))),
      ways_(std::max<std::uint64_t>(1, ways)),
      keys_(sets_ * ways_, no_key) {}

bool EventCounter::Sets::touch(std::uint64_t key) {
    std::uint64_t* set = keys_.data() + key % sets_ * ways_;
    if (*set == key) return true;
    std::uint64_t* found = std::find(set, set + ways_, key);
    const bool there = found != set + ways_;
    if (!there) --found;
    std::copy_backward(set, found, found + 1);
    *set = key;
    return there;
}

bool EventCounter::Streams::foresees(std::uint64_t line) {
    // A step of one or two, either way, from one of the last that were asked for.
    constexpr std::uint64_t near = 2;
    for (std::uint64_t& known : recent_) {
        if (line - known + near > 2 * near) continue;
        known = line;
        return true;
    }
    recent_[oldest_] = line;
    oldest_ = (oldest_ + 1) % recent_.size();
    return false;
}

EventCounter::EventCounter(const ModelledCpu& cpu)
    : predictor_(cpu.core.foretelling.direction_entries),
      l1_(cpu.l1_data.size_bytes / core::line_bytes, cpu.l1_data.ways),
      l2_(cpu.l2.size_bytes / core::line_bytes, cpu.l2.ways),
      // Few ways, which are quicker to look through than all entries.
      pages_(pages_of_first_level(cpu), 8) {}

void EventCounter::note_to(std::vector<EventBits>* events) {
    noted_ = events;
    branch_noted_ = false;
}

EventCounter::Counted& EventCounter::counted(std::uint32_t instruction) {
    if (places_.size() <= instruction) places_.resize(2 * std::size_t{instruction} + 1, none);
    std::uint32_t& place = places_[instruction];
    if (place == none) {
        place = static_cast<std::uint32_t>(counted_.size());
        counted_.push_back({instruction, 0, {}});
    }
    return counted_[place];
}

std::vector<EventCounter::Counted> EventCounter::take() {
    for (const Counted& one : counted_) places_[one.instruction] = none;
    return std::exchange(counted_, {});
}

void EventCounter::note(std::uint32_t instruction, DearEvent event) {
    ++counted(instruction).events[static_cast<std::size_t>(event)];
    if (noted_) noted_->back() |= bit_of(event);
}

void EventCounter::touch(std::uint32_t instruction, std::uint64_t address) {
    const std::uint64_t line = address / core::line_bytes;
    if (line == last_line_) return;
    last_line_ = line;
    if (!pages_.touch(address / small_page)) note(instruction, DearEvent::new_page);
    if (l1_.touch(line)) return;
    const bool in_l2 = l2_.touch(line);
    if (!streams_.foresees(line)) note(instruction, in_l2 ? DearEvent::from_l2 : DearEvent::from_beyond);
}

void EventCounter::access(std::uint32_t instruction, std::uint64_t load, std::uint64_t store) {
    if (load) touch(instruction, load);
    if (store) touch(instruction, store);
}

void EventCounter::branch(std::uint32_t instruction, const trace::StaticInstruction& what) {
    // Of others it is known where they go.
    after_branch_ = what.conditional || (what.indirect && !what.returns);
    branch_noted_ = noted_ != nullptr;
    if (!after_branch_) return;
    if (names_.size() <= instruction) names_.resize(2 * std::size_t{instruction} + 1, 0);
    std::uint64_t& name = names_[instruction];
    if (!name) name = branch_names_.of_branch(what);
    branch_ = {instruction, what.conditional, name, what.address + what.length, what.target};
}

void EventCounter::resolve(std::uint64_t next) {
    if (!std::exchange(after_branch_, false)) return;
    const bool taken = next != branch_.next || branch_.target == next;
    const bool missed = branch_.conditional ? predictor_.conditional(branch_.name, taken)
                                            : predictor_.indirect(branch_.name, branch_names_.of_target(next));
    if (!missed) return;
    ++counted(branch_.instruction).events[static_cast<std::size_t>(DearEvent::mispredicted)];
    if (noted_ && branch_noted_) noted_->back() |= bit_of(DearEvent::mispredicted);
}

void EventCounter::execute(const trace::StaticInstruction& instruction, const trace::Step& step, bool goes_on) {
    if (goes_on) resolve(instruction.address);
    after_branch_ = false;
    ++counted(step.instruction).executions;
    if (noted_) noted_->push_back(0);
    access(step.instruction, step.load, step.store);
    if (instruction.branch) branch(step.instruction, instruction);
}

}  // namespace tmaprobe::model
