#include "trace/translation_area.h"

#if defined(__x86_64__)

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "trace/injected_call.h"
#include "trace/sha_routine.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t first_error = ~std::uint64_t{4095};

/// What the table has an address's code under.
std::uint64_t key_of(std::uint64_t address) { return ~address + 1; }

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

Result<> TranslationArea::map_at(TracedProcess& process, std::uint64_t address) {
    // What the program maps next lies right below what it has: no area should be there for another copy of it. But its
    // libraries should be in reach of an instruction.
    constexpr std::uint64_t apart = std::uint64_t{1} << 30;
    const auto mmap = [&](std::uint64_t at, std::uint64_t bytes) {
        const std::uint64_t flags =
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? std::uint64_t{MAP_FIXED_NOREPLACE} : 0);
        return inject_system_call(process, SYS_mmap, {at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, flags, ~0ull, 0});
    };
    const auto unmap = [&](std::uint64_t at, std::uint64_t bytes) {
        return inject_system_call(process, SYS_munmap, {at, bytes, 0, 0, 0, 0});
    };
    auto mapped = TRY(mmap(address, address ? area_bytes : area_bytes + apart));
    const bool has_room = mapped < first_error;
    if (!address && has_room) TRY(unmap(mapped + area_bytes, apart));
    if (!address && !has_room) mapped = TRY(mmap(0, area_bytes));
    if (mapped >= first_error)
        return fail(ErrorCode::no_permission, "the traced process may not map executable memory there");
    // Kernels before 4.17 take the address as a wish.
    if (address && mapped != address) {
        TRY(unmap(mapped, area_bytes));
        return fail(ErrorCode::unavailable, "the traced process has something else there");
    }
    auto guarded =
        TRY(inject_system_call(process, SYS_mprotect, {mapped + guard_offset, guard_bytes, PROT_NONE, 0, 0, 0}));
    if (guarded != 0) return fail(ErrorCode::no_permission, "the traced process may not protect its memory");
    base_ = mapped;
    // A program that the process executes later may have another area where this one is.
    static std::atomic<std::uint64_t> areas{0};
    number_ = ++areas;
    return write(base_ + CodeEmitter::area_number, &number_, sizeof number_);
}

Result<> TranslationArea::map(TracedProcess& process) {
    TRY(map_at(process, 0));
    table_.clear();
    return start();
}

Result<> TranslationArea::map_as(TracedProcess& process, Contents contents) {
    TRY(map_at(process, contents.base));
    code_ = std::move(contents.code);
    table_ = std::move(contents.table);
    std::vector<std::uint64_t> table(CodeEmitter::table_bytes / sizeof(std::uint64_t));
    for (const TargetTable::Pair& entered : table_.pairs()) {
        table[entered.place / sizeof entered.code] = key_of(entered.address);
        table[entered.place / sizeof entered.code + 1] = entered.code;
    }
    TRY(write(base_ + table_offset, table.data(), CodeEmitter::table_bytes));
    patches_.clear();
    written_ = 0;
    set_layout();
    return write_code();
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
    for (const TargetTable::Pair& entered : table_.pairs())
        TRY(write(base_ + table_offset + entered.place, nothing, sizeof nothing));
    table_.clear();
    if (counters) {
        const std::vector<std::uint64_t> none(counters, 0);
        TRY(write(base_ + counters_offset, none.data(), 8 * counters));
    }
    code_.clear();
    patches_.clear();
    written_ = 0;
    append(second_look().bytes());
    const MachineCode routine = sha_routine();
    append({routine.begin, routine.begin + routine.size});
    set_layout();
    return write_code();
}

void TranslationArea::set_layout() {
    CodeEmitter look(base_ + code_offset, base_);
    const std::uint64_t stop = look.second_look(base_ + table_offset);
    layout_ = {base_,
               base_ + table_offset,
               base_ + counters_offset,
               base_ + code_offset + look.bytes().size(),
               base_ + code_offset,
               stop};
}

void TranslationArea::append(const std::vector<std::uint8_t>& code) {
    code_.insert(code_.end(), code.begin(), code.end());
}

void TranslationArea::patch(std::uint64_t at, std::span<const std::uint8_t> bytes) {
    const std::size_t offset = at - base_ - code_offset;
    std::ranges::copy(bytes, code_.begin() + static_cast<std::ptrdiff_t>(offset));
    if (offset < written_) patches_.push_back({offset, bytes.size()});
}

void TranslationArea::patch_jump(std::uint64_t at, std::uint64_t to) {
    CodeEmitter emitter(at, base_);
    emitter.jump(to);
    patch(at, emitter.bytes());
}

std::uint8_t TranslationArea::patch_trap(std::uint64_t at) {
    constexpr std::uint8_t trap = 0xcc;
    const std::uint8_t before = code_[at - base_ - code_offset];
    patch(at, {&trap, 1});
    return before;
}

void TranslationArea::put_back(std::uint64_t at, std::uint8_t byte) { patch(at, {&byte, 1}); }

Result<> TranslationArea::write_code() {
    const std::uint64_t begin = base_ + code_offset;
    if (written_ < code_.size()) TRY(write(begin + written_, code_.data() + written_, code_.size() - written_));
    written_ = code_.size();
    for (const Patch& patch : patches_) TRY(write(begin + patch.at, code_.data() + patch.at, patch.bytes));
    patches_.clear();
    return {};
}

Result<> TranslationArea::enter_in_table(std::uint64_t address, std::uint64_t code) {
    for (const TargetTable::Pair& entered : table_.enter(address, code)) {
        const std::uint64_t pair[2] = {key_of(entered.address), entered.code};
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
