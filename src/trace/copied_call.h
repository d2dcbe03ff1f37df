#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/registers.h"

namespace tmaprobe::trace {

/// Why a window of a copy ended before its time: what it would have done next reaches beyond it.
enum class EndedBy {
    waits,      ///< for another thread, a time, or something to read
    reads,      ///< from where the original would miss it
    files,      ///< opens, closes or changes what is no plain file
    processes,  ///< starts or waits for threads and processes, or executes a program
    signals,    ///< sends one, or dies of one
    exits,
    spins,  ///< on what another thread would have changed
    other_call,
    error,  ///< of ours
};
std::string_view name_of(EndedBy reason);

/// A system call before which a copy stands.
struct CopiedCall {
    long number = 0;
    std::array<std::uint64_t, 6> arguments{};

    static CopiedCall of(const Registers& registers) {
        const auto& native = registers.native;
#if defined(__x86_64__)
        return {static_cast<long>(native.rax), {native.rdi, native.rsi, native.rdx, native.r10, native.r8, native.r9}};
#else
        return {static_cast<long>(native.regs[8]),
                {native.regs[0], native.regs[1], native.regs[2], native.regs[3], native.regs[4], native.regs[5]}};
#endif
    }
    std::uint64_t operator[](std::size_t index) const { return arguments[index]; }
    int descriptor() const { return static_cast<int>(arguments[0]); }
};

/// What becomes of one.
struct CallOutcome {
    enum class What { carried_out, answered, ended };
    What what = What::ended;
    std::int64_t value = 0;                ///< with which it is answered
    EndedBy reason = EndedBy::other_call;  ///< for which the copy ends

    static CallOutcome carried_out() { return {What::carried_out, 0, {}}; }
    static CallOutcome answered(std::int64_t value) { return {What::answered, value, {}}; }
    static CallOutcome ended(EndedBy reason) { return {What::ended, 0, reason}; }
};

}  // namespace tmaprobe::trace
