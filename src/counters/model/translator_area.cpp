// The translator's memory in the traced process: getting it, keeping it, and what of the program it holds copies of.
#include "counters/model/translator_area.h"

#if defined(__x86_64__)

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/file.h"
#include "counters/model/sha_routine.h"
#include "counters/model/translator.h"

namespace tmaprobe::counters::model {

using namespace translator_area;

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
    for (int again = 0; again < 10 && stop && (stop->why == Stop::Why::event || (stop->why == Stop::Why::signal && !stop->is_fault())); ++again) {
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
    accesses_.clear();
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
    const MachineCode routine = sha_routine();
    process_.write(routine_, routine.begin, routine.size);
    code_next_ += routine.size;
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

}  // namespace tmaprobe::counters::model

#endif
