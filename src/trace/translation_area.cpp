#include "trace/translation_area.h"

#if defined(__x86_64__)

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "trace/injected_call.h"
#include "trace/sha_routine.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t first_error = ~std::uint64_t{4095};

}  // namespace

Result<> TranslationArea::write(std::uint64_t address, const void* from, std::size_t bytes) const {
    if (!process_.write(address, from, bytes))
        return fail(ErrorCode::system, "the translator's memory in the traced process cannot be written");
    return {};
}

Result<> TranslationArea::read(std::uint64_t address, void* to, std::size_t bytes) const {
    if (process_.read(address, to, bytes) != bytes)
        return fail(ErrorCode::system, "the translator's memory in the traced process cannot be read");
    return {};
}

Result<> TranslationArea::map(TracedProcess& process) {
    auto mapped = TRY(inject_system_call(
        process, SYS_mmap,
        {0, area_bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0}));
    if (mapped >= first_error)
        return fail(ErrorCode::no_permission, "the traced process may not map executable memory");
    auto guarded =
        TRY(inject_system_call(process, SYS_mprotect, {mapped + guard_offset, guard_bytes, PROT_NONE, 0, 0, 0}));
    if (guarded != 0) return fail(ErrorCode::no_permission, "the traced process may not protect its memory");
    base_ = mapped;
    // A program that the process executes later may have another area where this one is.
    static std::atomic<std::uint64_t> areas{0};
    number_ = ++areas;
    TRY(write(base_ + CodeEmitter::area_number, &number_, sizeof number_));
    table_.clear();
    return start();
}

CodeEmitter TranslationArea::second_look() const {
    CodeEmitter emitter(base_ + code_offset, base_);
    emitter.second_look(base_ + table_offset);
    return emitter;
}

bool TranslationArea::is_there() const {
    std::uint64_t number = 0;
    if (process_.read(base_ + CodeEmitter::area_number, &number, sizeof number) != sizeof number || number != number_)
        return false;
    const std::vector<std::uint8_t> expected = second_look().bytes();
    std::vector<std::uint8_t> now(expected.size());
    return process_.read(base_ + code_offset, now.data(), now.size()) == now.size() && now == expected;
}

Result<> TranslationArea::start(std::size_t counters) {
    constexpr std::uint64_t nothing[2] = {0, 0};
    for (const std::uint64_t place : table_.places()) TRY(write(base_ + table_offset + place, nothing, sizeof nothing));
    table_.clear();
    if (counters) {
        const std::vector<std::uint64_t> none(counters, 0);
        TRY(write(base_ + counters_offset, none.data(), 8 * counters));
    }
    next_code_ = base_ + code_offset;
    CodeEmitter look(next_code_, base_);
    const std::uint64_t stop = look.second_look(base_ + table_offset);
    layout_ = {base_, base_ + table_offset, base_ + counters_offset, 0, next_code_, stop};
    if (auto appended = append(look.bytes()); !appended) return appended;
    layout_.sha_routine = next_code_;
    const MachineCode routine = sha_routine();
    return append({routine.begin, routine.begin + routine.size});
}

Result<> TranslationArea::append(const std::vector<std::uint8_t>& code) {
    if (auto written = write(next_code_, code.data(), code.size()); !written) return written;
    next_code_ += code.size();
    return {};
}

Result<> TranslationArea::patch_jump(std::uint64_t at, std::uint64_t to) const {
    CodeEmitter emitter(at, base_);
    emitter.jump(to);
    return write(at, emitter.bytes().data(), emitter.bytes().size());
}

Result<> TranslationArea::patch_trap(std::uint64_t at) const {
    constexpr std::uint8_t trap = 0xcc;
    return write(at, &trap, sizeof trap);
}

Result<> TranslationArea::put_back(std::uint64_t at, std::uint8_t byte) const { return write(at, &byte, sizeof byte); }

Result<> TranslationArea::enter_in_table(std::uint64_t address, std::uint64_t code) {
    for (const TargetTable::Pair& entered : table_.enter(address, code)) {
        const std::uint64_t pair[2] = {~entered.address + 1, entered.code};
        TRY(write(layout_.table + entered.place, pair, sizeof pair));
    }
    return {};
}

Result<> TranslationArea::open_buffer(std::size_t entries) {
    buffer_begin_ = base_ + guard_offset - 8 * std::clamp<std::size_t>(entries, 1, buffer_entries);
    return write(layout_.slots + CodeEmitter::trace_pointer, &buffer_begin_, sizeof buffer_begin_);
}

Result<> TranslationArea::allow_steps(std::int64_t steps) const {
    return write(layout_.slots + CodeEmitter::allowed_steps, &steps, sizeof steps);
}

Result<std::int64_t> TranslationArea::allowed_steps() const {
    std::int64_t steps = 0;
    TRY(read(layout_.slots + CodeEmitter::allowed_steps, &steps, sizeof steps));
    return steps;
}

Result<> TranslationArea::read_counters(std::size_t blocks, std::vector<std::uint64_t>& counters) const {
    counters.resize(blocks);
    return blocks ? read(layout_.counters, counters.data(), 8 * blocks) : Result<>{};
}

Result<> TranslationArea::read_buffer(std::vector<std::uint64_t>& entries) const {
    std::uint64_t end = 0;
    if (auto done = read(layout_.slots + CodeEmitter::trace_pointer, &end, sizeof end); !done) return done;
    if (end < buffer_begin_ || end > base_ + guard_offset || (end - buffer_begin_) % 8 != 0)
        return fail(ErrorCode::system, "the translator's memory was written by the traced program");
    entries.resize((end - buffer_begin_) / 8);
    return entries.empty() ? Result<>{} : read(buffer_begin_, entries.data(), entries.size() * 8);
}

Result<> TranslationArea::read_saved(std::uint64_t (&registers)[16]) const {
    return read(layout_.slots + CodeEmitter::saved_registers, registers, sizeof registers);
}

Result<std::uint64_t> TranslationArea::read_jump_target() const {
    std::uint64_t target = 0;
    TRY(read(layout_.slots + CodeEmitter::jump_target, &target, sizeof target));
    return target;
}

}  // namespace tmaprobe::trace

#endif
