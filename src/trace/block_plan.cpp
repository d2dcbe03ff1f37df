#include "trace/block_plan.h"

#include <algorithm>
#include <array>

#include "trace/x86_encoding.h"

namespace tmaprobe::trace {
namespace {

PlannedStep::Kind kind_of(const StaticInstruction& instruction) {
    if (!instruction.stores) return PlannedStep::Kind::load;
    return instruction.loads ? PlannedStep::Kind::both : PlannedStep::Kind::store;
}

class Planner {
  public:
    BlockPlan plan(std::span<const StaticInstruction> instructions, std::span<const std::uint32_t> numbers,
                   WantedRegisters wanted) {
        if (wanted.arguments) {
            plan_.arguments = {at_register(rdi, 0), at_register(rsi, 0), at_register(rdx, 0)};
            plan_.stack_pointer = at_register(rsp, 0);
        }
        for (std::size_t i = 0; i < instructions.size(); ++i) {
            position_ = static_cast<std::uint16_t>(i);
            if (wanted.result && i + 1 == instructions.size()) plan_.result = at_register(rax, 0);
            PlannedStep step = planned(instructions[i]);
            step.instruction = numbers[i];
            pass(instructions[i]);
            if (step.moved_from) {
                position_ = static_cast<std::uint16_t>(i + 1);
                step.moved_to = entry_of(moving_pointer(instructions[i])).entry;
            }
            if (step.kind != PlannedStep::Kind::neither) plan_.accesses.push_back(static_cast<std::uint16_t>(i));
            plan_.steps.push_back(step);
        }
        std::stable_sort(plan_.records.begin(), plan_.records.end(),
                         [](const RegisterRecord& a, const RegisterRecord& b) { return a.position < b.position; });
        return std::move(plan_);
    }

  private:
    /// What is known of a register's present value: the value it had at `since`, moved on by a constant.
    struct Value {
        std::uint16_t since = 0;  ///< position of the value that is, or would be, in the trace
        std::uint16_t entry = 0;  ///< 0: it is not yet
        std::int64_t moved = 0;
    };
    struct Entry {
        std::uint16_t entry = 0;
        std::int64_t moved = 0;
    };

    Entry entry_of(int reg) {
        Value& value = values_[static_cast<std::size_t>(reg)];
        if (!value.entry) {
            value.entry = plan_.entries++;
            plan_.records.push_back({value.since, value.entry, static_cast<std::uint8_t>(reg)});
        }
        return {value.entry, value.moved};
    }

    RecordedAddress at_register(int reg, std::int64_t displacement, char segment = 0) {
        const Entry entry = entry_of(reg);
        return {displacement + entry.moved, entry.entry, 0, 0, segment};
    }

    RecordedAddress operand(const StaticInstruction& instruction) {
        const MemoryOperand& memory = instruction.memory;
        RecordedAddress out{memory.displacement, 0, 0, 0, memory.segment};
        if (memory.base == MemoryOperand::instruction_pointer) {
            out.constant += static_cast<std::int64_t>(instruction.address + instruction.length);
        } else if (memory.base != MemoryOperand::none) {
            const Entry base = entry_of(memory.base);
            out.base = base.entry;
            out.constant += base.moved;
        }
        if (memory.index != MemoryOperand::none && !instruction.gather) {
            const Entry index = entry_of(memory.index);
            out.index = index.entry;
            out.shift = memory.scale == 8 ? 3 : memory.scale == 4 ? 2 : memory.scale == 2 ? 1 : 0;
            out.constant += index.moved * memory.scale;
        }
        // An operand of pop that is relative to the stack pointer counts from where that is afterwards.
        if (instruction.pop && memory.base == rsp) out.constant += stack_slot;
        return out;
    }

    static int moving_pointer(const StaticInstruction& instruction) {
        return string_pointers(instruction).reads_source ? rsi : rdi;
    }

    PlannedStep planned_string(const StaticInstruction& instruction) {
        PlannedStep step;
        const StringPointers pointers = string_pointers(instruction);
        const char segment = x86_encoding(instruction).segment;
        if (pointers.reads_destination) step.load = at_register(rdi, 0);
        if (pointers.reads_source) step.load = at_register(rsi, 0, segment);
        if (pointers.writes_destination) step.store = at_register(rdi, 0);
        if (!instruction.repeated) {
            step.kind = kind_of(instruction);
            return step;
        }
        // How far a repeated instruction came is seen from where its pointer is before and after; the one before is a
        // value of its own, even if the pointer's is known up to a constant.
        step.kind = PlannedStep::Kind::string;
        step.string_bytes = instruction.string_bytes;
        Value& pointer = values_[static_cast<std::size_t>(moving_pointer(instruction))];
        if (pointer.moved != 0) pointer = {position_, 0, 0};
        step.moved_from = entry_of(moving_pointer(instruction)).entry;
        return step;
    }

    PlannedStep planned(const StaticInstruction& instruction) {
        plan_.has_strings |= instruction.string;
        if (instruction.string) return planned_string(instruction);
        PlannedStep step;
        if (!instruction.loads && !instruction.stores) return step;
        const bool stack = instruction.push || instruction.pop;
        RecordedAddress address, on_stack;
        if (instruction.explicit_memory) address = operand(instruction);
        if (stack) on_stack = at_register(rsp, instruction.push ? -stack_slot : 0);
        const bool known = instruction.explicit_memory || stack;
        if (!known) return step;  // an implicit operand (xlat, maskmovdqu): where is not known
        if (instruction.loads) step.load = instruction.pop ? on_stack : address;
        if (instruction.stores) step.store = instruction.push ? on_stack : address;
        step.kind = kind_of(instruction);
        return step;
    }

    /// What the instruction does to what is known.
    void pass(const StaticInstruction& instruction) {
        const PointerStep step = pointer_step(instruction);
        for (int reg = 0; reg < 16; ++reg) {
            Value& value = values_[static_cast<std::size_t>(reg)];
            if (reg == step.reg)
                value.moved += step.by;
            else if (instruction.written_registers >> reg & 1)
                value = {static_cast<std::uint16_t>(position_ + 1), 0, 0};
        }
    }

    BlockPlan plan_;
    std::array<Value, 16> values_{};
    std::uint16_t position_ = 0;
};

}  // namespace

BlockPlan plan_block(std::span<const StaticInstruction> instructions, std::span<const std::uint32_t> numbers,
                     WantedRegisters wanted) {
    return Planner().plan(instructions, numbers, wanted);
}

}  // namespace tmaprobe::trace
