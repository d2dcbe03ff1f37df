#include "counters/model/tracer.h"

#include <signal.h>

#include <cstring>

#include "counters/model/software_step.h"

namespace tmaprobe::counters::model {

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

StaticInstruction Tracer::decode_at(std::uint64_t address) {
    std::uint8_t bytes[16];
    const std::size_t available = process_.read(address, bytes, sizeof bytes);
    if (available == 0) {
        StaticInstruction nothing;
        nothing.address = address;
        return nothing;
    }
    return decoder_.decode(bytes, available, address);
}

std::uint32_t Tracer::known(std::uint64_t address, Trace& trace) {
    const auto [entry, is_new] = index_.try_emplace(address, static_cast<std::uint32_t>(trace.instructions.size()));
    if (is_new) trace.instructions.push_back(decode_at(address));
    return entry->second;
}

bool Tracer::code_changed(const Trace& trace, std::size_t first_instruction) {
    for (std::size_t i = first_instruction; i < trace.instructions.size(); ++i) {
        const StaticInstruction& instruction = trace.instructions[i];
        std::uint8_t now[16];
        if (!instruction.decoded) continue;
        if (process_.read(instruction.address, now, instruction.length) != instruction.length) continue;
        if (std::memcmp(now, instruction.bytes.data(), instruction.length) != 0) return true;
    }
    return false;
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
        auto registers = process_.registers();
        if (!registers) return pass_on(registers);
        if (runs_32_bit_code(*registers))
            return fail(ErrorCode::unavailable, "the program runs 32-bit code, which is not modelled", "build it for 64 bits");
        const std::uint32_t number = known(registers->instruction_pointer(), trace);
        const StaticInstruction& instruction = trace.instructions[number];
        Step step = effective_addresses(instruction, *registers);
        step.instruction = number;

        bool done = false;
        if (!signal && steps_in_software(instruction)) {
            if (auto stepped = step_in_software(process_, instruction, *registers); !stepped) return pass_on(stepped);
            ++result.stepped_in_software;
            done = true;
        }
        while (!done) {
            auto stop = process_.step(signal);
            if (!stop) return pass_on(stop);
            signal = 0;
            if (stop->why == Stop::Why::exited) {
                result.ended = true;
                return result;
            }
            // A fork or clone stops in the middle of its system call; the step ends when that returns.
            if (stop->why == Stop::Why::event) continue;
            // Nor does the step of a system call that was interrupted end before the kernel has dealt with that; it may be
            // met in the middle, after a stop or a signal.
            if (stop->why == Stop::Why::step && (unsettled || instruction.system)) {
                const auto after = process_.registers();
                if (after && awaits_restart(*after)) continue;
                unsettled = false;
            }
            if (stop->why == Stop::Why::signal && stop->signal == SIGILL && can_step_in_software(instruction)) {
                if (auto stepped = step_in_software(process_, instruction, *registers); !stepped) return pass_on(stepped);
                ++result.stepped_in_software;
            } else if (stop->why == Stop::Why::signal) {
                signal = stop->signal;
                unsettled = true;
                break;  // the instruction did not complete: it is met again, or its handler is
            }
            done = true;
        }
        if (!done) continue;
        if (!instruction.decoded) ++result.undecodable;
        trace.steps.push_back(step);
        ++result.steps;
    }
    result.code_changed = code_changed(trace, 0);
    return result;
}

}  // namespace tmaprobe::counters::model
