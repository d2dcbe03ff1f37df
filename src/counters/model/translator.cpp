#include "counters/model/translator.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/file.h"
#include "counters/model/sha_routine.h"

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

constexpr std::size_t table_bytes = CodeEmitter::lookup_entries * 16;
constexpr std::size_t buffer_offset = CodeEmitter::lookup_table + table_bytes;
constexpr std::size_t buffer_entries = 1 << 16;
constexpr std::size_t code_offset = buffer_offset + buffer_entries * 8;
constexpr std::size_t code_bytes = 4 << 20;
constexpr std::size_t area_bytes = code_offset + code_bytes;

constexpr std::size_t most_entries_per_block = 1 + 3 * Translator::longest_block;
constexpr std::size_t largest_block_code = 16384;

/// What an instruction brings about, not somebody else.
bool is_synchronous(int signal) { return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL; }

constexpr std::uint64_t string_step_bytes = 32;  // what one micro-operation of a repeated string instruction moves

}  // namespace

Result<> Translator::map_area() {
    auto saved = process_.registers();
    if (!saved) return pass_on(saved);
    const std::uint64_t at = saved->instruction_pointer();
    std::uint8_t original[2];
    constexpr std::uint8_t system_call[2] = {0x0f, 0x05};
    if (process_.read(at, original, 2) != 2 || !process_.write(at, system_call, 2))
        return fail(ErrorCode::no_permission, "the traced process's code cannot be written");
    Registers call = *saved;
    call.native.rax = SYS_mmap;
    call.native.orig_rax = ~0ull;
    call.native.rdi = 0;
    call.native.rsi = area_bytes;
    call.native.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
    call.native.r10 = MAP_PRIVATE | MAP_ANONYMOUS;
    call.native.r8 = ~0ull;
    call.native.r9 = 0;
    if (auto set = process_.set_registers(call); !set) return set;
    auto stop = process_.step();
    // What was under way when the thread was stopped may be reported first.
    for (int again = 0; again < 10 && stop && (stop->why == Stop::Why::event || (stop->why == Stop::Why::signal && !is_synchronous(stop->signal))); ++again) {
        if (stop->why == Stop::Why::signal) held_signals_.push_back(stop->signal);
        stop = process_.step();
    }
    const auto after = process_.registers();
    process_.write(at, original, 2);
    if (auto set = process_.set_registers(*saved); !set) return set;
    if (!stop || !after || stop->why != Stop::Why::step) return fail(ErrorCode::system, "the traced process did not map memory");
    constexpr std::uint64_t first_error = ~std::uint64_t{4095};
    if (after->native.rax >= first_error) return fail(ErrorCode::no_permission, "the traced process may not map executable memory");
    area_ = after->native.rax;
    forget();
    return {};
}

void Translator::settle() {
    if (process_.address_space() == home_) return;
    home_ = process_.address_space();
    drop_blocks();
    area_ = 0;
    refused_ = false;
}

void Translator::drop_blocks() {
    blocks_.clear();
    block_at_.clear();
    block_instructions_.clear();
    number_at_.clear();  // the instructions stay: steps that were given out refer to them
    traps_.clear();
    stale_ = false;
    maps_known_ = false;
}

bool Translator::area_is_there() const {
    // The first code that forget() writes is always the same.
    CodeEmitter emitter(lookup_);
    emitter.lookup();
    std::vector<std::uint8_t> now(emitter.bytes().size());
    return process_.read(lookup_, now.data(), now.size()) == now.size() && now == emitter.bytes();
}

void Translator::check_area() {
    const pid_t process = process_.process_of_thread();
    if (!area_) {
        process_of_area_ = process;
        return;
    }
    if (!area_is_there()) {
        area_ = 0;
        number_at_.clear();
    } else if (process != process_of_area_) {
        forget();  // a fork's copy
    }
    process_of_area_ = process;
}

void Translator::forget() {
    drop_blocks();
    code_next_ = area_ + code_offset;
    const std::vector<std::uint8_t> empty(table_bytes, 0);
    process_.write(area_ + CodeEmitter::lookup_table, empty.data(), empty.size());
    CodeEmitter emitter(code_next_);
    lookup_ = code_next_;
    traps_[emitter.lookup()] = {Trap::Kind::unknown_target, 0, 0};
    process_.write(lookup_, emitter.bytes().data(), emitter.bytes().size());
    code_next_ += emitter.bytes().size();
    routine_ = code_next_;
    process_.write(routine_, sha_routine().data(), sha_routine().size());
    code_next_ += sha_routine().size();
}

Result<std::uint64_t> Translator::code_for(std::uint64_t address) {
    if (const auto known = block_at_.find(address); known != block_at_.end()) return blocks_[known->second].code;
    if (code_next_ + largest_block_code > area_ + area_bytes)
        return fail(ErrorCode::unavailable, "the program's code is larger than the translator's area");
    CodeEmitter emitter(code_next_);
    emit_block(address, emitter);
    if (!process_.write(code_next_, emitter.bytes().data(), emitter.bytes().size()))
        return fail(ErrorCode::system, "the translator's area cannot be written");
    code_next_ += emitter.bytes().size();
    return blocks_.back().code;
}

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

std::size_t Translator::replay(const Block& block, const std::uint64_t*& entry, const std::uint64_t* end, const OnStep& on_step) {
    std::size_t executed = 0;
    const auto next = [&] { return entry < end ? *entry++ : 0; };
    for (std::uint32_t i = 0; i < block.count; ++i) {
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

void Translator::drain(const OnStep& on_step, Traced& sums) {
    std::uint64_t pointer = 0;
    process_.read(area_ + CodeEmitter::trace_pointer, &pointer, sizeof pointer);
    const std::uint64_t begin = area_ + buffer_offset;
    const std::size_t entries = pointer > begin ? (pointer - begin) / 8 : 0;
    buffer_.resize(entries);
    if (entries) process_.read(begin, buffer_.data(), entries * 8);
    const std::uint64_t* entry = buffer_.data();
    const std::uint64_t* end = entry + entries;
    while (entry < end) {
        const std::uint64_t number = *entry++;
        if (number >= blocks_.size()) break;
        sums.steps += replay(blocks_[number], entry, end, on_step);
        sums.stepped_in_software += blocks_[number].in_software;
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
            const int signal = stop->signal;
            if (is_synchronous(signal)) return fail(ErrorCode::unavailable, std::string("the program met signal ") + strsignal(signal) + " while it was traced",
                            "programs that live with such signals cannot be modelled; --source none measures the time");
            // Delivered when the thread is back in its own code.
            held_signals_.push_back(signal);
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

bool Translator::code_changed() {
    std::uint8_t now[16];
    for (const auto& [address, number] : number_at_) {
        const StaticInstruction& instruction = instructions_[number];
        if (instruction.decoded && process_.read(instruction.address, now, instruction.length) == instruction.length &&
            std::memcmp(now, instruction.bytes.data(), instruction.length) != 0)
            return true;
    }
    return false;
}

bool Translator::rewritable(std::uint64_t address) {
    if (!maps_known_) {
        maps_known_ = true;
        rewritable_.clear();
        const auto maps = read_file("/proc/" + std::to_string(process_.thread()) + "/maps");
        std::istringstream lines(maps ? *maps : std::string());
        std::string line;
        while (std::getline(lines, line)) {
            unsigned long long begin = 0, end = 0;
            char permissions[8] = {};
            if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, permissions) == 3 && permissions[1] == 'w' && permissions[2] == 'x')
                rewritable_.emplace_back(begin, end);
        }
    }
    return std::any_of(rewritable_.begin(), rewritable_.end(),
                       [&](const auto& area) { return address >= area.first && address < area.second; });
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
    const std::uint64_t buffer = area_ + buffer_offset;
    process_.write(area_ + CodeEmitter::trace_pointer, &buffer, sizeof buffer);

    bool changed = false;
    maps_known_ = false;
    while (traced.steps < count) {
        constexpr std::size_t blocks_per_buffer = buffer_entries / most_entries_per_block;
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
