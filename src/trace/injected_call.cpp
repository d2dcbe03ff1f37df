#include "trace/injected_call.h"

namespace tmaprobe::trace {

#if defined(__x86_64__)

namespace {

/// Steps over the system call. Signals that come first are kept for the thread's next step; where the thread stands
/// behind a call that was left out, its first step may end with that one.
Result<> step_over_call(TracedProcess& process, std::uint64_t at) {
    constexpr int patience = 10;
    for (int i = 0; i < patience; ++i) {
        auto stop = TRY(process.step());
        if (stop.why == Stop::Why::step && TRY(process.registers()).instruction_pointer() != at) return {};
        if (stop.why == Stop::Why::exited || stop.is_fault()) break;
        if (stop.why == Stop::Why::signal) process.keep_signal(stop.signal);
    }
    return fail(ErrorCode::system, "the traced process did not make a system call");
}

}  // namespace

Result<std::uint64_t> inject_system_call(TracedProcess& process, std::uint64_t number,
                                         const std::array<std::uint64_t, 6>& arguments) {
    const auto before = TRY(process.registers());
    const std::uint64_t at = before.instruction_pointer();
    constexpr std::uint8_t system_call[2] = {0x0f, 0x05};
    std::uint8_t original[sizeof system_call];
    const bool kept = process.read(at, original, sizeof original) == sizeof original;
    if (!kept || !process.write(at, system_call, sizeof system_call))
        return fail(ErrorCode::no_permission, "the traced process's code cannot be written");
    Registers call = before;
    call.native.rax = number;
    call.native.orig_rax = ~0ull;
    call.native.rdi = arguments[0];
    call.native.rsi = arguments[1];
    call.native.rdx = arguments[2];
    call.native.r10 = arguments[3];
    call.native.r8 = arguments[4];
    call.native.r9 = arguments[5];
    Result<> stepped = process.set_registers(call);
    if (stepped) stepped = step_over_call(process, at);
    const auto after = process.registers();
    const bool restored = process.write(at, original, sizeof original);
    const auto set = process.set_registers(before);
    if (!stepped) return pass_on(stepped);
    if (!after) return pass_on(after);
    if (!restored) return fail(ErrorCode::system, "the traced process's code could not be restored");
    if (!set) return pass_on(set);
    return after->native.rax;
}

#else

Result<std::uint64_t> inject_system_call(TracedProcess&, std::uint64_t, const std::array<std::uint64_t, 6>&) {
    return fail(ErrorCode::unavailable, "system calls are not injected on this architecture");
}

#endif

}  // namespace tmaprobe::trace
