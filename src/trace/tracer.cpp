#include "trace/tracer.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "trace/software_step.h"
#include "trace/x86_encoding.h"

namespace tmaprobe::trace {
namespace {

constexpr std::size_t longest_instruction = 15;

/// What makes it impossible to go on from here, whatever the instruction does.
EndedEarly obstacle(const Registers& registers, const StaticInstruction& instruction) {
    constexpr std::uint64_t vsyscall_page = 0xffffffffff600000, page_bytes = 4096;
    if (registers.single_steps_itself()) return EndedEarly::trap_flag;
    const bool in_vsyscall_page = instruction.address - vsyscall_page < page_bytes;
    if (in_vsyscall_page) return EndedEarly::vsyscall;
    // Where nothing can be read, executing it makes a fault that is the program's own.
    if (!instruction.decoded && instruction.length > 0) return EndedEarly::undecodable;
    return instruction.ends;
}

bool ends_with(const StaticInstruction& instruction, std::initializer_list<std::uint8_t> bytes) {
    return instruction.length >= bytes.size() &&
           std::equal(bytes.begin(), bytes.end(),
                      instruction.bytes.begin() + instruction.length - static_cast<std::ptrdiff_t>(bytes.size()));
}

/// The one by which 64-bit code calls the system.
bool is_system_call(const StaticInstruction& instruction) {
#if defined(__aarch64__)
    return ends_with(instruction, {0x01, 0x00, 0x00, 0xd4});
#else
    return ends_with(instruction, {0x0f, 0x05});
#endif
}

}  // namespace

Tracer::Tracer(TracedProcess& process, Decoder& decoder, bool software_always)
    : process_(process), decoder_(decoder), software_always_(software_always) {
    // Native stretches between windows meet what the processor lacks as a signal.
    process_.on_illegal_instruction = [this](TracedProcess& stopped) {
        auto registers = stopped.registers();
        if (!registers) return false;
        const StaticInstruction instruction = decode_at(registers->instruction_pointer());
        return can_step_in_software(instruction) && step_in_software(stopped, instruction, *registers).has_value();
    };
}

bool Tracer::steps_in_software(const StaticInstruction& instruction) const {
    return software_always_ ? can_step_in_software(instruction) : must_step_in_software(instruction);
}

StaticInstruction Tracer::decode(const std::uint8_t* bytes, std::size_t available, std::uint64_t address) {
    return decoder_.decode(bytes, available, address);
}

StaticInstruction Tracer::decode_at(std::uint64_t address) {
    std::uint8_t bytes[longest_instruction];
    const std::size_t available = process_.read(address, bytes, sizeof bytes);
    if (available > 0) return decode(bytes, available, address);
    StaticInstruction nothing;
    nothing.address = address;
    return nothing;
}

std::uint32_t Tracer::known(std::uint64_t address, Trace& trace, bool& changed) {
    const auto [entry, is_new] = index_.try_emplace(address, static_cast<std::uint32_t>(trace.instructions.size()));
    if (!is_new) {
        const StaticInstruction& before = trace.instructions[entry->second];
        std::uint8_t now[longest_instruction];
        if (before.length && process_.read(address, now, before.length) == before.length &&
            std::memcmp(now, before.bytes.data(), before.length) == 0)
            return entry->second;
        changed = true;
        entry->second = static_cast<std::uint32_t>(trace.instructions.size());
    }
    trace.instructions.push_back(decode_at(address));
    return entry->second;
}

Result<Traced> Tracer::trace(std::size_t count, Trace& trace) {
    Traced result;
    if (indexed_ != &trace || index_.size() > trace.instructions.size()) {
        index_.clear();
        for (std::size_t i = 0; i < trace.instructions.size(); ++i)
            index_[trace.instructions[i].address] = static_cast<std::uint32_t>(i);
        indexed_ = &trace;
    }
    int signal = 0;
    bool unsettled = true;
    while (result.steps < count) {
        auto registers = TRY(process_.registers());
        if (runs_32_bit_code(registers))
            return fail(ErrorCode::unavailable, "the program runs 32-bit code, which is not modelled",
                        "build it for 64 bits");
        const std::uint32_t number = known(registers.instruction_pointer(), trace, result.code_changed);
        const StaticInstruction instruction = trace.instructions[number];
        result.ended_early = obstacle(registers, instruction);
        if (result.ended_early != EndedEarly::none) {
            if (!instruction.decoded) ++result.undecodable;
            return result;
        }
        Step step = effective_addresses(instruction, registers);
        step.instruction = number;

        bool done = false;
        if (!signal && on_system_call && is_system_call(instruction)) {
            const CallAnswer answer = on_system_call(process_, registers);
            result.ended = answer == CallAnswer::end;
            if (result.ended) return result;
            done = answer == CallAnswer::answered;
        }
        if (!done && !signal && steps_in_software(instruction)) {
            TRY(step_in_software(process_, instruction, registers));
            ++result.stepped_in_software;
            done = true;
        }
        while (!done) {
            auto stop = TRY(process_.step(signal));
            signal = 0;
            if (stop.why == Stop::Why::exited) {
                result.ended = true;
                return result;
            }
            // A fork or clone stops in the middle of its system call; the step ends when that returns.
            if (stop.why == Stop::Why::event) continue;
            // Nor does the step of a system call that was interrupted end before the kernel has dealt with that; it may
            // be met in the middle, after a stop or a signal.
            if (stop.why == Stop::Why::step && (unsettled || instruction.system)) {
                const auto after = process_.registers();
                if (after && awaits_restart(*after)) continue;
                unsettled = false;
            }
            if (stop.why == Stop::Why::signal && stop.signal == SIGILL && can_step_in_software(instruction)) {
                TRY(step_in_software(process_, instruction, registers));
                ++result.stepped_in_software;
            } else if (stop.why == Stop::Why::signal) {
                signal = stop.signal;
                unsettled = true;
                break;  // the instruction did not complete: it is met again, or its handler is
            }
            done = true;
        }
        if (!done) continue;
        TRY(hide_trap_flag(instruction));
        TRY(show_time_stamp(instruction));
        TRY(show_cpuid(instruction, registers));
        trace.steps.push_back(step);
        ++result.steps;
    }
    return result;
}

Result<> Tracer::hide_trap_flag(const StaticInstruction& instruction) {
    // A step sets the trap flag, which pushf writes to the stack.
    if (!pushes_flags(instruction)) return {};
    constexpr std::uint16_t trap_flag = 0x100;
    const auto registers = TRY(process_.registers());
    std::uint16_t flags = 0;
    const std::uint64_t at = registers.stack_pointer();
    if (process_.read(at, &flags, sizeof flags) != sizeof flags)
        return fail(ErrorCode::system, "the flags that the traced program pushed cannot be read");
    flags = static_cast<std::uint16_t>(flags & ~trap_flag);
    if (!process_.write(at, &flags, sizeof flags))
        return fail(ErrorCode::system, "the flags that the traced program pushed cannot be written");
    return {};
}

Result<> Tracer::show_time_stamp(const StaticInstruction& instruction) {
#if defined(__x86_64__)
    if (!time_stamp || !instruction.system || !reads_time_stamp(instruction)) return {};
    auto registers = TRY(process_.registers());
    const std::uint64_t now = time_stamp();
    constexpr unsigned half = 32;
    registers.native.rax = now & 0xffffffff;
    registers.native.rdx = now >> half;
    return process_.set_registers(registers);
#else
    static_cast<void>(instruction);
    return {};
#endif
}

Result<> Tracer::show_cpuid(const StaticInstruction& instruction, const Registers& before) {
    const auto is = [&](std::initializer_list<std::uint8_t> bytes) {
        return instruction.length == bytes.size() && ends_with(instruction, bytes);
    };
    const bool asks_cpu = on_cpuid && is({0x0f, 0xa2}), asks_state = on_xgetbv && is({0x0f, 0x01, 0xd0});
    if (!asks_cpu && !asks_state) return {};
    auto after = TRY(process_.registers());
    (asks_cpu ? on_cpuid : on_xgetbv)(before, after);
    return process_.set_registers(after);
}

}  // namespace tmaprobe::trace
