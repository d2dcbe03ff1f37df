#include "symbols/llvm/unwind.h"

#if TMAPROBE_HAVE_SYMBOLIZER
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugFrame.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "symbols/llvm/segments.h"
#endif

namespace tmaprobe::symbols {

#if !TMAPROBE_HAVE_SYMBOLIZER

std::vector<std::vector<std::uint64_t>> unwind(const std::vector<StackToWalk>& stacks) {
    return std::vector<std::vector<std::uint64_t>>(stacks.size());
}

#else
namespace {

using llvm::dwarf::FDE;
using llvm::dwarf::UnwindLocation;

/// The unwinding tables of one file.
class Tables {
  public:
    explicit Tables(const std::string& path) {
        auto opened = llvm::object::createBinary(path);
        if (!opened) {
            llvm::consumeError(opened.takeError());
            return;
        }
        file_ = std::move(*opened);
        const auto* object = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file_.getBinary());
        if (!object) return;
        segments_ = segments_of(*object);
        context_ = llvm::DWARFContext::create(*object);
        auto frames = context_->getEHFrame();
        if (!frames) {
            llvm::consumeError(frames.takeError());
            return;
        }
        for (const auto& entry : (*frames)->entries())
            if (const auto* one = llvm::dyn_cast<FDE>(&entry)) functions_.push_back(one);
        std::ranges::sort(functions_, {}, &FDE::getInitialLocation);
    }

    /// How the caller's registers are found, at an offset in the file; and whose register the return address is in.
    std::optional<std::pair<llvm::dwarf::UnwindRow, unsigned>> row_at(std::uint64_t offset) const {
        const auto segment = std::ranges::find_if(
            segments_, [&](const Segment& one) { return offset >= one.offset && offset - one.offset < one.bytes; });
        if (segment == segments_.end()) return std::nullopt;
        const std::uint64_t address = segment->address + (offset - segment->offset);
        const auto after = std::ranges::upper_bound(functions_, address, {}, &FDE::getInitialLocation);
        if (after == functions_.begin()) return std::nullopt;
        const FDE& function = **(after - 1);
        if (address - function.getInitialLocation() >= function.getAddressRange()) return std::nullopt;
        auto table = llvm::dwarf::UnwindTable::create(&function);
        if (!table) {
            llvm::consumeError(table.takeError());
            return std::nullopt;
        }
        std::optional<llvm::dwarf::UnwindRow> found;
        for (const auto& row : *table)
            if (!row.hasAddress() || row.getAddress() <= address) found = row;
        if (!found) return std::nullopt;
        return std::pair(*found, static_cast<unsigned>(function.getLinkedCIE()->getReturnAddressRegister()));
    }

  private:
    llvm::object::OwningBinary<llvm::object::Binary> file_;
    std::unique_ptr<llvm::DWARFContext> context_;
    std::vector<Segment> segments_;
    std::vector<const FDE*> functions_;
};

/// One thread's way out of its calls.
class WalkOut {
  public:
    WalkOut(const StackToWalk& stack, std::map<std::string, Tables>& tables)
        : stack_(stack), tables_(tables), registers_(stack.top.registers) {}

    std::vector<std::uint64_t> calls() {
        if (registers_.size() <= stack_pointer_number()) return {};
        constexpr std::size_t deepest = 128;
        std::vector<std::uint64_t> calls;
        std::uint64_t at = stack_.top.instruction_pointer;
        while (calls.size() < deepest) {
            const auto returns_to = leave(at, calls.empty());
            if (!returns_to || *returns_to <= 1) break;
            // The call is what lies before the place that it returns to.
            at = *returns_to - 1;
            if (!process::mapping_at(*stack_.code, at)) break;
            calls.push_back(at);
        }
        return calls;
    }

  private:
    /// Sets the registers as they are in the caller; the address that the call returns to.
    std::optional<std::uint64_t> leave(std::uint64_t address, bool innermost) {
        const auto* mapping = process::mapping_at(*stack_.code, address);
        if (!mapping || mapping->inode == 0) return std::nullopt;
        const auto row = tables_.try_emplace(mapping->path, mapping->path)
                             .first->second.row_at(address - mapping->begin + mapping->offset);
        if (!row) return std::nullopt;
        const auto frame = frame_address(row->first.getCFAValue(), address);
        // A stack that does not shrink leads nowhere.
        if (!frame || (!innermost && *frame <= stack_pointer())) return std::nullopt;
        std::vector<std::uint64_t> before = registers_;
        const auto& rules = row->first.getRegisterLocations();
        std::optional<std::uint64_t> returns_to;
        for (unsigned number = 0; number < std::max<std::size_t>(before.size(), row->second + 1); ++number) {
            const auto rule = rules.getRegisterLocation(number);
            std::optional<std::uint64_t> value;
            if (number < before.size()) value = before[number];
            if (rule && rule->getLocation() != UnwindLocation::Same) value = value_of(*rule, *frame);
            if (number == row->second) returns_to = value;
            if (number < before.size() && value) registers_[number] = *value;
        }
        registers_[stack_pointer_number()] = *frame;
        return returns_to;
    }

    std::optional<std::uint64_t> frame_address(const UnwindLocation& location, std::uint64_t address) const {
        if (location.getLocation() == UnwindLocation::RegPlusOffset) {
            if (location.getRegister() >= registers_.size()) return std::nullopt;
            return registers_[location.getRegister()] + static_cast<std::uint64_t>(std::int64_t{location.getOffset()});
        }
        if (location.getLocation() != UnwindLocation::DWARFExpr) return std::nullopt;
        // The one expression that linkers write: of a procedure linkage table on x86-64, whose second instruction, at
        // byte 11 of 16, comes after a push.
        constexpr std::uint64_t entry_bytes = 16, pushed_from = 11, word = 8;
        return stack_pointer() + word + (address % entry_bytes >= pushed_from ? word : 0);
    }

    std::optional<std::uint64_t> value_of(const UnwindLocation& rule, std::uint64_t frame) const {
        if (rule.getLocation() != UnwindLocation::CFAPlusOffset) return std::nullopt;
        const std::uint64_t address = frame + static_cast<std::uint64_t>(std::int64_t{rule.getOffset()});
        const bool is_stored = rule == UnwindLocation::createAtCFAPlusOffset(rule.getOffset());
        return is_stored ? word_at(address) : address;
    }

    std::optional<std::uint64_t> word_at(std::uint64_t address) const {
        const auto& top = stack_.top;
        const std::uint64_t offset = address - top.begin, number = offset / sizeof(std::uint64_t);
        // What is not where words are is no stack that a compiler made.
        if (address < top.begin || offset % sizeof(std::uint64_t) || number >= top.words.size()) return std::nullopt;
        return top.words[number];
    }

    std::size_t stack_pointer_number() const {
        constexpr std::size_t of_x86 = 7, of_arm = 31;
        return registers_.size() > of_arm ? of_arm : of_x86;
    }
    std::uint64_t stack_pointer() const { return registers_[stack_pointer_number()]; }

    const StackToWalk& stack_;
    std::map<std::string, Tables>& tables_;
    std::vector<std::uint64_t> registers_;
};

}  // namespace

std::vector<std::vector<std::uint64_t>> unwind(const std::vector<StackToWalk>& stacks) {
    std::map<std::string, Tables> tables;
    std::vector<std::vector<std::uint64_t>> found;
    for (const StackToWalk& stack : stacks) found.push_back(WalkOut(stack, tables).calls());
    return found;
}

#endif

}  // namespace tmaprobe::symbols
