// What it means that a thread stops in translated code, and its way back to its own.
#include "trace/translator.h"

#if defined(__x86_64__)

#include <signal.h>

#include <algorithm>
#include <cstring>

namespace tmaprobe::trace {

std::optional<Boundary> Translator::boundary_at(std::uint64_t address) const {
    const auto found = std::lower_bound(known_.boundaries.begin(), known_.boundaries.end(), address,
                                        [](const Boundary& one, std::uint64_t at) { return one.address < at; });
    if (found == known_.boundaries.end() || found->address != address) return std::nullopt;
    return *found;
}

Result<> Translator::recover(const Boundary& boundary, Registers& registers) const {
    if (boundary.displaced) {
        std::uint64_t own[16];
        if (auto read = area_.read_saved(own); !read) return read;
        for (int reg = 0; reg < 16; ++reg)
            if (boundary.displaced >> reg & 1) registers.set_general(reg, own[reg]);
    }
    const Block& block = known_.blocks[boundary.block];
    std::uint64_t address = block.start;
    for (std::size_t i = 0; i < boundary.index; ++i)
        address += known_.instructions[block.plan.steps[i].instruction].length;
    registers.set_instruction_pointer(address);
    return {};
}

Result<> Translator::resume_at(std::uint64_t address, Registers registers) {
    auto code = TRY(code_for(address));
    TRY(area_.write_code());
    registers.set_instruction_pointer(code);
    registers.native.orig_rax = ~0ull;
    return process_.set_registers(registers);
}

Result<> Translator::leave_from_anywhere() {
    auto registers = TRY(process_.registers());
    if (!area_.contains(registers.instruction_pointer())) return {};
    auto event = TRY(step_to_boundary(0, false));
    return event.kind == Event::Kind::ended ? Result<>{} : process_.set_registers(event.registers);
}

Result<Translator::Event> Translator::step_to_boundary(int signal, bool sent) {
    Event event;
    event.kind = Event::Kind::signal;
    event.signal = signal;
    event.sent = sent;
    constexpr int longest_way = 2000;  // a SHA instruction in software is the longest
    for (int i = 0; i < longest_way; ++i) {
        auto registers = TRY(process_.registers());
        event.registers = registers;
        const std::uint64_t at = registers.instruction_pointer();
        if (const auto boundary = boundary_at(at)) {
            TRY(recover(*boundary, event.registers));
            event.position = boundary;
            return event;
        }
        // Behind a trap, or before it: the program is at its target.
        auto trap = known_.traps.find(at);
        if (trap == known_.traps.end()) trap = known_.traps.find(at + 1);
        if (trap != known_.traps.end()) {
            std::uint64_t target = trap->second.target;
            if (trap->second.kind == Trap::Kind::unknown_target) {
                target = TRY(area_.read_jump_target());
            }
            event.registers.set_instruction_pointer(target);
            return event;
        }
        auto stop = TRY(process_.step());
        if (stop.why == Stop::Why::exited) {
            event.kind = Event::Kind::ended;
            return event;
        }
        if (stop.why == Stop::Why::signal && !stop.is_fault()) process_.keep_signal(stop.signal);
        if (stop.is_fault()) break;
    }
    return fail(ErrorCode::system, "the traced program stopped where its state is not known");
}

Result<Translator::Event> Translator::event_of(const Stop& stop) {
    Event event;
    if (stop.why == Stop::Why::exited) {
        event.kind = Event::Kind::ended;
        return event;
    }
    auto registers = TRY(process_.registers());
    event.registers = registers;
    const std::uint64_t at = registers.instruction_pointer();
    if (stop.why == Stop::Why::signal) {
        if (!stop.is_fault()) return step_to_boundary(stop.signal, stop.sent);
        event.kind = Event::Kind::signal;
        event.signal = stop.signal;
        // It may have jumped to where nothing is: then it is at the address, in its own code.
        if (!area_.contains(at)) return event;
        event.position = boundary_at(at);
        if (!event.position)
            return fail(ErrorCode::system,
                        std::string("the traced program met signal ") + strsignal(stop.signal) + " in translated code");
        if (event.position->kind == Boundary::Kind::head) event.kind = Event::Kind::buffer_full;
        if (event.position->kind == Boundary::Kind::check) event.kind = Event::Kind::code_gone;
        TRY(recover(*event.position, event.registers));
        return event;
    }
    const auto found = known_.traps.find(at);
    if (found == known_.traps.end())
        return fail(ErrorCode::system, "the traced program stopped where nothing was planted");
    event.trap = found->second;
    if (event.trap.kind == Trap::Kind::unknown_target) {
        event.trap.target = TRY(area_.read_jump_target());
    }
    event.registers.set_instruction_pointer(event.trap.target);
    if (event.trap.kind == Trap::Kind::awaited) event.kind = Event::Kind::met;
    if (event.trap.kind == Trap::Kind::enough_steps) {
        event.kind = Event::Kind::enough_steps;
        event.position = boundary_at(at - 1);
    }
    return event;
}

Result<Translator::Event> Translator::wait_for_event() {
    for (;;) {
        auto stop = TRY(process_.resume());
        if (stop.why == Stop::Why::event) continue;
        if (stop.why == Stop::Why::step) {
            // A step's own stop may come after a system call that something interrupted.
            const auto registers = TRY(process_.registers());
            const auto starts_here = [&](const Block& block) { return block.code == registers.instruction_pointer(); };
            const bool is_trap = known_.traps.contains(registers.instruction_pointer());
            if (!is_trap && std::any_of(known_.blocks.begin(), known_.blocks.end(), starts_here)) continue;
        }
        return event_of(stop);
    }
}

}  // namespace tmaprobe::trace

#endif
