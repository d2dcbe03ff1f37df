#include "counters/model/translator.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "counters/model/translator_area.h"

namespace tmaprobe::counters::model {

Translator::Translator(TracedProcess& process, Tracer& tracer) : process_(process), tracer_(tracer) {}

std::uint32_t Translator::number_of(std::uint64_t address) {
    const auto [entry, is_new] = number_at_.try_emplace(address, static_cast<std::uint32_t>(instructions_.size()));
    if (is_new) instructions_.push_back(tracer_.decode_at(address));
    return entry->second;
}

Result<Traced> Translator::step_only(std::size_t count, const OnStep& on_step) {
    Trace trace;
    auto traced = tracer_.trace(count, trace);
    if (traced) deliver(trace, on_step);
    return traced;
}

void Translator::deliver(const Trace& trace, const OnStep& on_step) {
    for (Step step : trace.steps) {
        step.instruction = number_of(trace.instructions[step.instruction].address);
        on_step(instructions_[step.instruction], step);
    }
}

#if !defined(__x86_64__)

Result<Traced> Translator::steps(std::size_t count, const OnStep& on_step) { return step_only(count, on_step); }

#else

namespace {

constexpr std::size_t most_entries_per_block = 1 + 3 * Translator::longest_block;

constexpr std::uint64_t string_step_bytes = 32;  // what one micro-operation of a repeated string instruction moves

}  // namespace

Result<> Translator::enter(std::uint64_t address) {
    auto code = code_for(address);
    if (!code) return pass_on(code);
    auto registers = process_.registers();
    if (!registers) return pass_on(registers);
    registers->set_instruction_pointer(*code);
    registers->native.gs_base = area_;
    registers->native.orig_rax = ~0ull;
    return process_.set_registers(*registers);
}

Result<> Translator::leave(std::uint64_t address) {
    auto registers = process_.registers();
    if (!registers) return pass_on(registers);
    registers->set_instruction_pointer(address);
    registers->native.gs_base = own_gs_;
    registers->native.orig_rax = ~0ull;
    return process_.set_registers(*registers);
}

std::size_t Translator::replay(const Block& block, const std::uint64_t*& entry, const std::uint64_t* end, std::uint32_t count,
                               const OnStep& on_step) {
    std::size_t executed = 0;
    const auto next = [&] { return entry < end ? *entry++ : 0; };
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t number = block_instructions_[block.first + i];
        const StaticInstruction& instruction = instructions_[number];
        Step step;
        step.instruction = number;
        if (instruction.string) {
            std::uint64_t repeats = instruction.repeated ? next() : 1;
            const std::uint64_t source = next(), destination = next();
            const std::uint64_t bytes = std::max<std::uint64_t>(1, repeats * instruction.string_bytes);
            for (std::uint64_t done = 0; done < bytes; done += string_step_bytes) {
                step.load = instruction.loads && repeats ? source + done : 0;
                step.store = instruction.stores && repeats ? destination + done : 0;
                on_step(instruction, step);
                ++executed;
            }
            continue;
        }
        if (instruction.loads || instruction.stores) {
            std::uint64_t address = 0, stack = 0;
            if (instruction.explicit_memory) address = next() + (instruction.memory.segment == 'f' ? fs_ : 0);
            if (instruction.push || instruction.pop) stack = next();
            if (instruction.loads) step.load = instruction.pop && !(instruction.explicit_memory && !instruction.stores) ? stack : address;
            if (instruction.stores) step.store = instruction.push ? stack : address;
        }
        on_step(instruction, step);
        ++executed;
    }
    return executed;
}

void Translator::drain(const OnStep& on_step, Traced& sums, const Original* faulting) {
    std::uint64_t pointer = 0;
    process_.read(area_ + CodeEmitter::trace_pointer, &pointer, sizeof pointer);
    const std::uint64_t begin = area_ + translator_area::buffer_offset;
    const std::size_t entries = pointer > begin ? (pointer - begin) / 8 : 0;
    buffer_.resize(entries);
    if (entries) process_.read(begin, buffer_.data(), entries * 8);
    const std::uint64_t* entry = buffer_.data();
    const std::uint64_t* end = entry + entries;
    while (entry < end) {
        const std::uint64_t number = *entry++;
        if (number >= blocks_.size()) break;
        const Block& block = blocks_[number];
        const bool cut_short = faulting && number == faulting->block && end - entry < block.entries;
        sums.steps += replay(block, entry, end, cut_short ? faulting->index : block.count, on_step);
        if (cut_short) break;
        sums.stepped_in_software += block.in_software;
    }
    process_.write(area_ + CodeEmitter::trace_pointer, &begin, sizeof begin);
}

Result<Traced> Translator::step_in_place(const OnStep& on_step) {
    const auto before = process_.registers();
    if (!before) return pass_on(before);
    // Code that the program may rewrite at any time is read anew at each step.
    constexpr std::size_t at_once = 100;
    const std::uint64_t at = before->instruction_pointer();
    if (rewritable(at)) {
        for (const auto& [address, number] : std::unordered_map<std::uint64_t, std::uint32_t>(number_at_))
            if (rewritable(address)) number_at_.erase(address);
        return step_only(at_once, on_step);
    }
    auto traced = step_only(1, on_step);
    const auto call = before->native.rax;
    if (traced && !traced->ended && (call == SYS_execve || call == SYS_execveat)) {
        check_area();
        if (!area_) return traced;
    }
    const bool maps = call == SYS_mmap || call == SYS_mprotect || call == SYS_munmap || call == SYS_mremap;
    if (traced && !traced->ended && maps) {
        maps_known_ = false;
        if (code_changed()) {
            traced->code_changed = true;
            forget();
        }
    }
    return traced;
}

Result<std::uint64_t> Translator::deliver_fault(const Trap& fault, const OnStep& on_step, Traced& traced) {
    const auto found = accesses_.find(fault.target);
    if (found == accesses_.end())
        return fail(ErrorCode::unavailable, std::string("the program met signal ") + strsignal(fault.signal) + " while it was traced",
                    "--source none measures the time");
    const Original& original = found->second;
    drain(on_step, traced, &original);
    auto registers = process_.registers();
    if (!registers) return pass_on(registers);
    std::uint64_t own = 0;
    if (original.access.changed_register >= 0 && process_.read(area_ + original.access.slot, &own, sizeof own) == sizeof own)
        registers->set_general(original.access.changed_register, own);
    if (auto set = process_.set_registers(*registers); !set) return pass_on(set);
    if (auto left = leave(original.address); !left) return pass_on(left);
    // The step ends before the handler's first instruction.
    int signal = fault.signal;
    for (;;) {
        auto stop = process_.step(signal);
        if (!stop) return pass_on(stop);
        signal = stop->why == Stop::Why::signal ? stop->signal : 0;
        traced.ended = stop->why == Stop::Why::exited;
        if (traced.ended) return 0;
        if (stop->why == Stop::Why::step) break;
    }
    const auto at_handler = process_.registers();
    if (!at_handler) return pass_on(at_handler);
    return at_handler->instruction_pointer();
}

Result<Translator::Trap> Translator::run_to_trap(Traced& traced) {
    for (;;) {
        auto stop = process_.resume();
        if (!stop) return pass_on(stop);
        if (stop->why == Stop::Why::exited) {
            traced.ended = true;
            return Trap{};
        }
        if (stop->why == Stop::Why::event) continue;
        auto registers = process_.registers();
        if (!registers) return pass_on(registers);
        if (stop->why == Stop::Why::signal) {
            if (stop->is_fault()) return Trap{Trap::Kind::fault, registers->instruction_pointer(), 0, stop->signal};
            // Delivered when the thread is back in its own code.
            held_signals_.push_back(stop->signal);
            continue;
        }
        const auto found = traps_.find(registers->instruction_pointer());
        // A step's own stop may come after a system call that something interrupted.
        const auto starts_here = [&](const Block& block) { return block.code == registers->instruction_pointer(); };
        if (found == traps_.end() && std::any_of(blocks_.begin(), blocks_.end(), starts_here)) continue;
        if (found == traps_.end()) return fail(ErrorCode::system, "the traced program stopped where nothing was planted");
        Trap trap = found->second;
        if (trap.kind == Trap::Kind::unknown_target) process_.read(area_ + CodeEmitter::jump_target, &trap.target, 8);
        return trap;
    }
}

Result<Traced> Translator::steps(std::size_t count, const OnStep& on_step) {
    Traced all;
    while (all.steps < count && !all.ended) {
        settle();
        auto part = stretch(count - all.steps, on_step);
        if (!part) return part;
        all.steps += part->steps;
        all.undecodable += part->undecodable;
        all.stepped_in_software += part->stepped_in_software;
        all.ended = part->ended;
        all.code_changed |= part->code_changed;
    }
    for (const int signal : held_signals_) ::kill(process_.pid(), signal);
    held_signals_.clear();
    return all;
}

Result<Traced> Translator::stretch(std::size_t count, const OnStep& on_step) {
    if (refused_) return step_only(count, on_step);
    // One step in place brings an interrupted system call to its end, and refuses 32-bit code.
    Trace head;
    auto first = tracer_.trace(1, head);
    if (!first || first->ended) return first;
    if (process_.address_space() != home_) {
        deliver(head, on_step);
        return first;
    }
    check_area();
    if (!area_ && !map_area()) refused_ = true;
    if (stale_) forget();
    deliver(head, on_step);
    if (refused_) return step_only(count, on_step);
    Traced traced = *first;
    auto registers = process_.registers();
    if (!registers) return pass_on(registers);
    own_gs_ = registers->native.gs_base;
    fs_ = registers->native.fs_base;
    std::uint64_t address = registers->instruction_pointer();
    const std::uint64_t buffer = area_ + translator_area::buffer_offset;
    process_.write(area_ + CodeEmitter::trace_pointer, &buffer, sizeof buffer);

    bool changed = false;
    maps_known_ = false;
    while (traced.steps < count) {
        constexpr std::size_t blocks_per_buffer = translator_area::buffer_entries / most_entries_per_block;
        // Blocks are a handful of instructions; asking for fewer at the end keeps close to the count.
        std::uint64_t blocks = std::clamp<std::uint64_t>((count - traced.steps) / 8, 1, blocks_per_buffer);
        process_.write(area_ + CodeEmitter::blocks_left, &blocks, sizeof blocks);
        if (auto entered = enter(address); !entered) return pass_on(entered);
        bool drained = false;
        while (!drained) {
            auto trap = run_to_trap(traced);
            if (!trap) return pass_on(trap);
            if (traced.ended) {
                return traced;
            }
            address = trap->target;
            if (trap->kind == Trap::Kind::no_blocks_left) {
                drained = true;
            } else if (trap->kind == Trap::Kind::fault) {
                auto handler = deliver_fault(*trap, on_step, traced);
                if (!handler) return pass_on(handler);
                if (traced.ended) return traced;
                address = *handler;
                if (auto entered = enter(address); !entered) return pass_on(entered);
            } else if (trap->kind == Trap::Kind::in_place) {
                drain(on_step, traced);
                if (auto left = leave(address); !left) return pass_on(left);
                auto stepped = step_in_place(on_step);
                if (!stepped) return stepped;
                traced.steps += stepped->steps;
                traced.undecodable += stepped->undecodable;
                traced.stepped_in_software += stepped->stepped_in_software;
                changed |= stepped->code_changed;
                if (stepped->ended) {
                    traced.ended = true;
                    return traced;
                }
                if (process_.address_space() != home_) return traced;
                if (!area_) return traced;  // another program now
                auto now = process_.registers();
                if (!now) return pass_on(now);
                address = now->instruction_pointer();
                if (traced.steps >= count) {
                    drained = true;
                    continue;
                }
                if (auto entered = enter(address); !entered) return pass_on(entered);
            } else {
                auto code = code_for(address);
                if (!code) return pass_on(code);
                if (trap->patch) {
                    CodeEmitter jump(trap->patch);
                    jump.jump(*code);
                    process_.write(trap->patch, jump.bytes().data(), jump.bytes().size());
                } else {
                    const std::uint64_t pair[2] = {address, *code};
                    const std::uint64_t slot = area_ + CodeEmitter::lookup_table + (address & (CodeEmitter::lookup_entries - 1)) * 16;
                    process_.write(slot, pair, sizeof pair);
                }
                if (auto entered = enter(address); !entered) return pass_on(entered);
            }
        }
        drain(on_step, traced);
    }
    if (auto left = leave(address); !left) return pass_on(left);
    stale_ = code_changed();
    traced.code_changed = stale_ || changed;
    return traced;
}

#endif

}  // namespace tmaprobe::counters::model
