#include "trace/region_watch.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#define TMAPROBE_REGION_LAYOUT_ONLY
#include <tmaprobe/region.h>

namespace tmaprobe::trace {
namespace {

using Page = tmaprobe_region_page_v1;
using Slot = tmaprobe_region_slot_v1;
using Record = tmaprobe_region_record_v1;
using Thread = tmaprobe_region_thread_v1;

constexpr std::uint64_t records_at = offsetof(Slot, records), records_bytes = sizeof(Slot::records);

}  // namespace

std::uint32_t RegionPaths::number_of(const std::vector<std::uint32_t>& open) {
    std::vector<std::uint32_t> path;
    for (const std::uint32_t region : open)
        if (std::ranges::find(path, region) == path.end()) path.push_back(region);
    if (!open.empty() && path.back() != open.back()) path.push_back(open.back());
    const auto [at, added] = numbers_.emplace(path, static_cast<std::uint32_t>(all_.size()));
    if (added) all_.push_back(std::move(path));
    return at->second;
}

RegionWatch::RegionWatch(RegionPaths& paths, const process::RegionPage* page,
                         const std::vector<RegionFunction>& functions, const Identity& identity,
                         std::map<std::uint32_t, SeenEntries>& seen)
    : paths_(paths), page_(page), asked_(functions), seen_(seen), identity_(identity) {}

/// The slot of the thread, or of the one that was copied: in a copy's memory, which has it as it was then.
void RegionWatch::find_slot(const TracedProcess& copy) {
    if (own_page_) return find_own_slot(copy);
    const std::uint64_t process = static_cast<std::uint64_t>(identity_.process) << 32;
    const std::uint64_t owner = process | static_cast<std::uint64_t>(identity_.thread);
    const Page& page = page_->page();
    for (std::size_t i = 0; i < TMAPROBE_REGION_THREADS && page.slots[i].owner; ++i) {
        const Slot& slot = page.slots[i];
        Thread thread{};
        if (slot.owner != owner || !slot.thread || copy.read(slot.thread, &thread, sizeof thread) != sizeof thread)
            continue;
        // A slot of what the process was before its exec says nothing of this memory.
        Slot there{};
        const auto at = reinterpret_cast<std::uint64_t>(thread.slot);
        if (copy.read(at, &there, records_at) != records_at || there.owner != owner || there.image != slot.image ||
            there.thread != slot.thread)
            continue;
        use_slot(at, slot.thread, slot.image);
        // Of a copy nobody asks for times, which are slow to have.
        const std::uint32_t yes = 1;
        static_cast<void>(
            copy.write(at - offsetof(Page, slots) - i * sizeof(Slot) + offsetof(Page, no_time), &yes, sizeof yes));
        return;
    }
}

void RegionWatch::use_slot(std::uint64_t address, std::uint64_t thread, std::uint64_t image) {
    slot_ = address;
    thread_ = thread;
    const std::uint64_t process = static_cast<std::uint64_t>(identity_.process) << 32;
    for (const auto& code : page_->page().codes)
        if (code.owner == process && code.image == image && code.end > code.begin)
            marks_.push_back({code.begin, code.end});
}

/// It has taken the first one. Its marks lie where those of the original do, which has told of them.
void RegionWatch::find_own_slot(const TracedProcess& copy) {
    const std::uint64_t at = own_page_ + offsetof(Page, slots);
    Slot there{};
    if (copy.read(at, &there, records_at) != records_at || !there.owner || !there.thread) return;
    const std::uint32_t yes = 1;
    static_cast<void>(copy.write(own_page_ + offsetof(Page, no_time), &yes, sizeof yes));
    use_slot(at, there.thread, there.image);
}

void RegionWatch::look_for_marks(const TracedProcess& process) {
    if (page_ && !slot_) find_slot(process);
}

void RegionWatch::look(const TracedProcess& copy) {
    look_for_marks(copy);
    const auto registers = copy.registers();
    in_mark_ = mark_called_ = registers && in_marks(registers->instruction_pointer());
    entering_ = false;
    mark_depth_ = 0;
    std::vector<std::uint32_t> open;
    Thread thread{};
    if (slot_ && copy.read(thread_, &thread, sizeof thread) == sizeof thread)
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(thread.depth, TMAPROBE_REGION_DEPTH); ++i)
            open.push_back(static_cast<std::uint32_t>(thread.open[i].region));
    open_.look(open, in_mark_);
    functions_.clear();
    if (!asked_.empty()) {
        const auto mappings = process::code_mappings_of(copy.pid());
        for (const RegionFunction& asked : asked_)
            for (const auto& mapping : mappings) {
                if (mapping.path != asked.file || asked.offset < mapping.offset ||
                    asked.offset >= mapping.offset + (mapping.end - mapping.begin))
                    continue;
                const std::uint64_t begin = mapping.begin + (asked.offset - mapping.offset);
                functions_.push_back({begin, begin + asked.bytes, asked.region});
                find_callers(functions_.back(), copy);
            }
    }
    note_path();
}

/// Whether the function is under way where the copy stands: it stands in it, or a place in it that is behind a call is
/// on the stack.
void RegionWatch::find_callers(Function& function, const TracedProcess& copy) {
    const auto registers = copy.registers();
    if (!registers) return;
    if (registers->instruction_pointer() >= function.begin && registers->instruction_pointer() < function.end) {
        function.inside = true;
        return enter(function.region, false);
    }
#if defined(__x86_64__)
    constexpr std::size_t most_words = 1 << 15;
    std::vector<std::uint64_t> stack(most_words);
    const std::uint64_t top = registers->stack_pointer();
    const std::size_t words = copy.read(top, stack.data(), stack.size() * sizeof stack[0]) / sizeof stack[0];
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t address = stack[i];
        if (address <= function.begin || address >= function.end) continue;
        std::uint8_t before[7] = {};
        if (copy.read(address - sizeof before, before, sizeof before) != sizeof before) continue;
        const bool direct = before[2] == 0xe8;
        bool indirect = false;  // FF /2 of two to seven bytes
        for (std::size_t length = 2; length <= sizeof before; ++length)
            indirect |= before[sizeof before - length] == 0xff && (before[sizeof before - length + 1] >> 3 & 7) == 2;
        if (!direct && !indirect) continue;
        function.inside = function.in_callee = true;
        function.return_slot = top + i * sizeof stack[0];
        return enter(function.region, false);
    }
#endif
}

std::optional<HardwareWatch::Point> RegionWatch::begin_of(std::uint32_t region) const {
    if (region < first_function_region) {
        const std::uint64_t slot = slot_ ? slot_ : own_page_ ? own_page_ + offsetof(Page, slots) : 0;
        if (!slot || region >= TMAPROBE_REGION_NAMES) return std::nullopt;
        return HardwareWatch::Point{slot + records_at + region * sizeof(Record) + offsetof(Record, begins), false};
    }
    const auto found = std::ranges::find(functions_, region, &Function::region);
    if (found == functions_.end()) return std::nullopt;
    return HardwareWatch::Point{found->begin, true};
}

bool RegionWatch::in_marks(std::uint64_t address) const {
    return std::ranges::any_of(marks_,
                               [&](const Range& range) { return address >= range.begin && address < range.end; });
}

bool RegionWatch::is_own(const StaticInstruction& instruction, Step& step) {
    const bool own = is_own_code(instruction, step);
    if (own) {
        ++executed_;
        if (!functions_.empty()) follow_functions(instruction, step);
    }
    step.regions = path_;
    return own;
}

/// A call of a mark and all up to its return is not the program's. Where a function jumps to a mark as its last thing,
/// the mark's return is the function's own.
bool RegionWatch::is_own_code(const StaticInstruction& instruction, const Step& step) {
    if (!in_mark_) {
        if (marks_.empty()) return true;
        if (!in_marks(instruction.address)) {
            if (open_.mark_left()) note_path();
            entering_ = instruction.call && !instruction.indirect && in_marks(instruction.target);
            return !entering_;
        }
        in_mark_ = true;
        mark_called_ = entering_;
        mark_depth_ = 0;
    }
    if (step.store) note_store(step.store);
    if (instruction.call) ++mark_depth_;
    if (!instruction.returns || mark_depth_-- > 0) return false;
    in_mark_ = entering_ = false;
    return !mark_called_;
}

void RegionWatch::note_store(std::uint64_t address) {
    if (!slot_) return;
    if (address == thread_ + offsetof(Thread, depth)) open_.depth_stored();
    const std::uint64_t at = address - slot_ - records_at;
    if (at >= records_bytes) return;
    const auto region = static_cast<std::uint32_t>(at / sizeof(Record));
    if (at % sizeof(Record) == offsetof(Record, begins)) open_.begin_stored(region, executed_);
    if (at % sizeof(Record) == offsetof(Record, ends)) note_left(open_.end_stored(region));
    note_path();
}

void RegionWatch::follow_functions(const StaticInstruction& instruction, const Step& step) {
    for (Function& function : functions_) {
        if (instruction.address == function.begin && !function.inside) {
            function.inside = true;
            function.in_callee = false;
            enter(function.region, true);
        }
        if (!function.inside) continue;
        if (instruction.call) {
            if (function.in_callee) {
                ++function.depth;
            } else {
                function.in_callee = true;
                function.return_slot = step.store;
                function.depth = 0;
            }
        } else if (instruction.returns) {
            const bool returned_to_it =
                function.in_callee &&
                (function.return_slot && step.load ? step.load >= function.return_slot : function.depth == 0);
            if (!function.in_callee) {
                function.inside = false;
                note_left(open_.leave(function.region));
                note_path();
            } else if (returned_to_it) {
                function.in_callee = false;
            } else if (function.depth > 0) {
                --function.depth;
            }
        }
    }
}

void RegionWatch::enter(std::uint32_t region, bool seen) {
    open_.enter(region, seen, executed_);
    note_path();
}

void RegionWatch::note_left(const std::optional<OpenRegions::Open>& left) {
    if (!left || !left->seen) return;
    SeenEntries& seen = seen_[left->region];
    seen.region = left->region;
    ++seen.entries;
    seen.instructions += executed_ - left->begun;
}

}  // namespace tmaprobe::trace
