#include "trace/block_writer.h"

#include <algorithm>

#include "trace/x86_encoding.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint16_t bit(unsigned reg) { return static_cast<std::uint16_t>(1u << reg); }

bool is_relative(const StaticInstruction& instruction) {
    return instruction.explicit_memory && instruction.memory.base == MemoryOperand::instruction_pointer;
}

std::uint64_t relative_address(const StaticInstruction& instruction) {
    return instruction.address + instruction.length + static_cast<std::uint64_t>(instruction.memory.displacement);
}

class BlockWriter {
  public:
    BlockWriter(const BlockSource& source, std::uint64_t address, const TranslationLayout& layout,
                const std::function<bool(const StaticInstruction&)>& in_software,
                const std::function<std::uint64_t(std::uint64_t)>& code_of)
        : source_(source),
          plan_(*source.plan),
          layout_(layout),
          in_software_(in_software),
          code_of_(code_of),
          code_(address, layout.slots) {}

    WrittenBlock write() {
        beginning_ = code_.here();
        if (source_.checked) check_source();
        const std::size_t count = source_.instructions.size();
        if (!source_.counted)
            head();
        else
            counted_at_ = count_by_flags();
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0 && !source_.counted) record_at(i);
            const StaticInstruction& instruction = source_.instructions[i];
            index_ = static_cast<std::uint16_t>(i);
            if (source_.counted && i == counted_at_) count_block();
            if (instruction.branch)
                branch(instruction);
            else
                plain(instruction);
        }
        index_ = static_cast<std::uint16_t>(count);
        if (count > 0 && !source_.counted) record_at(count);
        if (count == 0 || !source_.instructions.back().branch)
            exit_to(source_.next, source_.stops_before_next ? Trap::Kind::in_place : Trap::Kind::untranslated);
        return {code_.bytes(), std::move(boundaries_), std::move(traps_), counted_at_};
    }

  private:
    void boundary(std::uint16_t displaced = 0, Boundary::Kind kind = Boundary::Kind::instruction) {
        boundaries_.push_back({code_.here(), source_.number, index_, displaced, kind});
    }

    void check_source() {
        std::vector<std::uint8_t> bytes;
        for (const StaticInstruction& instruction : source_.instructions)
            bytes.insert(bytes.end(), instruction.bytes.begin(), instruction.bytes.begin() + instruction.length);
        if (bytes.empty()) return;
        code_.save(rax);
        code_.save(rcx);
        // The way out stands first, so that its address is known.
        constexpr std::size_t short_jump = 2;
        const std::uint64_t way_out = code_.here() + short_jump;
        CodeEmitter stub(way_out, layout_.slots);
        stub.restore(rcx);
        stub.restore(rax);
        stub.raw({0xcc});
        code_.raw({0xeb, static_cast<std::uint8_t>(stub.bytes().size())});
        code_.restore(rcx);
        code_.restore(rax);
        code_.raw({0xcc});
        const std::uint64_t start = source_.instructions.front().address;
        traps_.emplace_back(code_.here(), Trap{Trap::Kind::stale, start, beginning_});
        for (const std::uint64_t read : code_.compare(start, bytes, way_out))
            boundaries_.push_back(
                {read, source_.number, 0, static_cast<std::uint16_t>(bit(rax) | bit(rcx)), Boundary::Kind::check});
        code_.restore(rcx);
        code_.restore(rax);
    }

    /// A register to point into the trace with: none of those that are to be recorded.
    static unsigned pointer_besides(std::span<const RegisterRecord> records) {
        for (const unsigned candidate : {0u, 1u, 2u, 3u, 6u, 7u, 5u, 8u, 9u, 10u, 11u, 12u, 13u, 14u, 15u})
            if (std::none_of(records.begin(), records.end(),
                             [&](const RegisterRecord& record) { return record.reg == candidate; }))
                return candidate;
        return rax;  // not to be met: fewer registers are recorded at once than there are
    }

    std::span<const RegisterRecord> records_at(std::size_t position) const {
        const auto before = [](const RegisterRecord& record, std::size_t at) { return record.position < at; };
        const auto first = std::lower_bound(plan_.records.begin(), plan_.records.end(), position, before);
        const auto last = std::lower_bound(first, plan_.records.end(), position + 1, before);
        return {first, last};
    }

    /// Takes room for the block's entries and writes its number and the registers as they are now. The first store goes
    /// to the last entry: when there is no room for all, it is the one that faults.
    void head() {
        const auto records = records_at(0);
        const unsigned pointer = pointer_besides(records);
        constexpr int entry_bytes = 8;
        code_.save(pointer);
        code_.load(pointer, CodeEmitter::trace_pointer);
        boundary(bit(pointer), Boundary::Kind::head);
        if (plan_.entries > 1) code_.store_constant_at(pointer, entry_bytes * (plan_.entries - 1), 0);
        code_.store_constant_at(pointer, 0, source_.number);
        for (const RegisterRecord& record : records) code_.store_at(pointer, entry_bytes * record.entry, record.reg);
        code_.advance(pointer, entry_bytes * plan_.entries);
        code_.store(pointer, CodeEmitter::trace_pointer);
        code_.restore(pointer);
    }

    /// The first instruction before which flags mean nothing; the first of all where there is none.
    std::uint16_t count_by_flags() {
        for (std::size_t i = 0; i < source_.instructions.size(); ++i)
            if (overwrites_flags(source_.instructions[i])) {
                flags_are_free_ = true;
                return static_cast<std::uint16_t>(i);
            }
        return 0;
    }

    /// Whoever executes without an end comes by such a block again and again.
    bool ends_with_way_back() const {
        const StaticInstruction& last = source_.instructions.back();
        return last.branch && (last.indirect || last.target <= last.address);
    }

    void count_block() {
        constexpr std::uint64_t counter_bytes = 8;
        if (!flags_are_free_) {
            code_.save(rax);
            code_.save_flags();
        }
        if (ends_with_way_back()) stop_if_enough();
        code_.count_up(layout_.counters + counter_bytes * source_.number);
        if (!flags_are_free_) give_flags_back(code_);
    }

    static void give_flags_back(CodeEmitter& code) {
        code.restore_flags();
        code.restore(rax);
    }

    void stop_if_enough() {
        code_.count_down(layout_.slots + CodeEmitter::allowed_steps,
                         static_cast<std::uint32_t>(source_.instructions.size()));
        // Behind the trap lies a byte that is never executed: who comes from above does not stand where it stops.
        constexpr std::uint64_t jump_bytes = 2;
        CodeEmitter way_out(code_.here() + jump_bytes, layout_.slots);
        if (!flags_are_free_) give_flags_back(way_out);
        const std::uint64_t trap = way_out.here();
        way_out.raw({0xcc, 0x90});
        code_.raw({0x79, static_cast<std::uint8_t>(way_out.bytes().size())});  // jns
        boundaries_.push_back({trap, source_.number, index_, 0, Boundary::Kind::enough_steps});
        traps_.emplace_back(trap + 1, Trap{Trap::Kind::enough_steps, source_.instructions[index_].address, 0});
        code_.append(way_out);
    }

    void record_at(std::size_t position) {
        const auto records = records_at(position);
        if (records.empty()) return;
        const unsigned pointer = pointer_besides(records);
        constexpr int entry_bytes = 8;
        code_.save(pointer);
        code_.load(pointer, CodeEmitter::trace_pointer);
        for (const RegisterRecord& record : records)
            code_.store_at(pointer, entry_bytes * (record.entry - plan_.entries), record.reg);
        code_.restore(pointer);
    }

    void plain(const StaticInstruction& instruction) {
        if (in_software_(instruction)) {
            boundary();
            code_.save(rax);
            code_.save(rcx);
            for (const std::uint64_t read : code_.call_sha_routine(instruction, layout_.sha_routine))
                boundaries_.push_back({read, source_.number, index_, static_cast<std::uint16_t>(bit(rax) | bit(rcx)),
                                       Boundary::Kind::instruction});
        } else if (!is_relative(instruction)) {
            boundary();
            code_.copy(instruction);
        } else if (code_.reaches(instruction)) {
            boundary();
            code_.copy_relocated(instruction);
        } else {
            const auto scratch = static_cast<unsigned>(CodeEmitter::scratch_for(instruction));
            code_.save(scratch);
            code_.constant(scratch, relative_address(instruction));
            boundary(bit(scratch));
            code_.copy_based(instruction, scratch);
            code_.restore(scratch);
        }
    }

    void exit_to(std::uint64_t target, Trap::Kind kind) {
        if (kind == Trap::Kind::untranslated)
            if (const std::uint64_t code = code_of_(target)) return code_.jump(code);
        const std::uint64_t at = code_.trap();
        traps_.emplace_back(at + 1, Trap{kind, target, kind == Trap::Kind::untranslated ? at : 0});
    }

    void branch(const StaticInstruction& branch) {
        if (branch.indirect) return indirect(branch);
        const std::uint64_t next = branch.address + branch.length;
        if (branch.call) {
            boundary();
            code_.save(rax);
            push_return_address(next);
            code_.restore(rax);
            exit_to(branch.target, Trap::Kind::untranslated);
            return;
        }
        boundary();
        constexpr std::uint64_t way_on = 5;  // bytes of an exit
        constexpr std::uint64_t jump_bytes = 6;
        if (branch.conditional && is_count_branch(branch)) {
            for (std::size_t i = 0; i + 1 < branch.length; ++i) code_.raw({branch.bytes[i]});
            code_.raw({static_cast<std::uint8_t>(way_on)});
            exit_to(next, Trap::Kind::untranslated);
        } else if (branch.conditional) {
            code_.conditional_jump(static_cast<unsigned>(jump_condition(branch)), code_.here() + jump_bytes + way_on);
            exit_to(next, Trap::Kind::untranslated);
        }
        exit_to(branch.target, Trap::Kind::untranslated);
    }

    /// With rax saved.
    void push_return_address(std::uint64_t address) {
        code_.constant(rax, address);
        boundary(bit(rax));
        code_.raw({0x50});
    }

    void indirect(const StaticInstruction& branch) {
        boundary();
        code_.save(rax);
        target_to_rax(branch);
        code_.store(rax, CodeEmitter::jump_target);
        if (branch.call) push_return_address(branch.address + branch.length);
        code_.save(rcx);
        code_.first_look(layout_.table, layout_.second_look);
    }

    void target_to_rax(const StaticInstruction& branch) {
        constexpr std::uint8_t load = 0x8b;
        if (branch.returns) {
            boundary(bit(rax));
            code_.raw({0x58});  // pop %rax
            if (const std::uint16_t more = popped_by_return(branch)) {
                code_.raw({0x48, 0x8d, 0xa4, 0x24});  // lea more(%rsp), %rsp
                code_.raw({static_cast<std::uint8_t>(more), static_cast<std::uint8_t>(more >> 8), 0, 0});
            }
        } else if (!branch.explicit_memory) {
            const X86Encoding encoding = x86_encoding(branch);
            const std::uint8_t reg = branch.bytes[encoding.opcode_at + 1] & 7;
            code_.raw({static_cast<std::uint8_t>(encoding.rex & 1 ? 0x49 : 0x48), load,
                       static_cast<std::uint8_t>(0xc0 | reg)});
        } else if (is_relative(branch)) {
            code_.constant(rax, relative_address(branch));
            boundary(bit(rax));
            constexpr std::uint8_t fs_prefix = 0x64, gs_prefix = 0x65;
            if (branch.memory.segment) code_.raw({branch.memory.segment == 'f' ? fs_prefix : gs_prefix});
            code_.load_at(rax, rax, 0);
        } else {
            boundary(bit(rax));
            code_.operand_to_rax(load, branch.memory);
        }
    }

    const BlockSource& source_;
    const BlockPlan& plan_;
    const TranslationLayout& layout_;
    const std::function<bool(const StaticInstruction&)>& in_software_;
    const std::function<std::uint64_t(std::uint64_t)>& code_of_;
    CodeEmitter code_;
    std::vector<Boundary> boundaries_;
    std::vector<std::pair<std::uint64_t, Trap>> traps_;
    std::uint64_t beginning_ = 0;
    std::uint16_t index_ = 0, counted_at_ = 0;
    bool flags_are_free_ = false;  ///< where the block is counted
};

}  // namespace

bool can_be_translated(const StaticInstruction& instruction) {
    if (!instruction.decoded || instruction.system || instruction.ends != EndedEarly::none) return false;
    const X86Encoding encoding = x86_encoding(instruction);
    // A 32-bit address is no matter for what has none; loop and jecxz count in ecx then.
    if (encoding.address_32 && (instruction.explicit_memory || instruction.string)) return false;
    if (is_relative(instruction) && !instruction.branch) return CodeEmitter::scratch_for(instruction) >= 0;
    return true;
}

WrittenBlock write_block(const BlockSource& source, std::uint64_t address, const TranslationLayout& layout,
                         const std::function<bool(const StaticInstruction&)>& in_software,
                         const std::function<std::uint64_t(std::uint64_t)>& code_of) {
    return BlockWriter(source, address, layout, in_software, code_of).write();
}

}  // namespace tmaprobe::trace
