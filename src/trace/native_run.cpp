#include "trace/native_run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "process/held_command.h"
#include "trace/injected_call.h"

namespace tmaprobe::trace {

#if !defined(__x86_64__)

Result<NativeRun::Ran> NativeRun::run_for(double, const std::function<bool()>&, HardwareWatch*) {
    return fail(ErrorCode::unavailable, "copies are not let run on this architecture");
}

#else

/// Since the run began.
struct NativeRun::Progress {
    explicit Progress(const TracedProcess& followed)
        : copy(followed),
          began_used_ns(followed.processor_ns()),
          began_ns(process::now_ns()),
          began_ticks(now_ticks()) {}

    static std::uint64_t now_ticks() { return __builtin_ia32_rdtsc(); }
    double used_ns() const { return copy.processor_ns() - began_used_ns; }
    /// While it had a CPU: what it waited for one, or for us, is not its time. Never less than before: what one tick
    /// lasts is known from two clocks that are read one after the other, and where we have to wait between them it
    /// looks longer than it is. They are read in the order in which it never looks shorter.
    std::uint64_t ticks() {
        const std::uint64_t elapsed_ticks = now_ticks() - began_ticks;
        const auto elapsed_ns = static_cast<double>(process::now_ns() - began_ns);
        const double share = elapsed_ns > 0 ? std::min(1.0, used_ns() / elapsed_ns) : 0;
        shown = std::max(shown, static_cast<std::uint64_t>(share * static_cast<double>(elapsed_ticks)));
        return shown;
    }

    const TracedProcess& copy;
    double began_used_ns;
    std::uint64_t began_ns, began_ticks;
    std::uint64_t shown = 0;
};

Result<NativeRun::Ran> NativeRun::run_for(double processor_ns, const std::function<bool()>& goes_on,
                                          HardwareWatch* watch) {
    Ran ran;
    if (tracer_.time_stamp) TRY(let_read_time_stamps(false));
    Progress progress(copy_);
    const auto left_ns = [&] {
        return goes_on() ? static_cast<std::int64_t>(processor_ns - progress.used_ns()) : std::int64_t{0};
    };
    // Where we come late, the copy stands before its next system call, and always would: it goes on a little from
    // there. One that makes calls all the time is only ever met at them.
    constexpr double longest_further_ns = 2e6;
    bool went_further = false, over = false;
    std::uniform_real_distribution<double> further_ns(0, longest_further_ns);
    std::mt19937_64 random(static_cast<std::uint64_t>(progress.began_used_ns));
    int signal = 0;
    while (!ran.ended && !ran.met) {
        const auto stop = TRY(copy_.run_to_call(signal, left_ns));
        signal = 0;
        if (!stop) break;
        switch (stop->why) {
            case Stop::Why::exited:
                ran.ended = true;
                return ran;
            case Stop::Why::call:
                ran.ended = !TRY(make_call());
                if (left_ns() > 0) break;
                over = std::exchange(went_further, true);
                if (!over) processor_ns = progress.used_ns() + further_ns(random);
                break;
            case Stop::Why::signal:
                if (stop->signal == SIGSEGV && tracer_.time_stamp && TRY(show_time_stamp(progress))) break;
                if (stop->signal == SIGILL && copy_.on_illegal_instruction && copy_.on_illegal_instruction(copy_))
                    break;
                signal = stop->signal;
                break;
            case Stop::Why::step:
                if (watch) ran.met = watch->met();
                ran.ended = !ran.met;  // a trap of its own: somebody's, who is not there
                break;
            case Stop::Why::event:
                break;
        }
        if (over || !goes_on()) break;
    }
    if (signal) copy_.keep_signal(signal);
    ran.processor_ns = progress.used_ns();
    ran.ticks = progress.ticks();
    if (!ran.ended && tracer_.time_stamp) TRY(let_read_time_stamps(true));
    return ran;
}

/// The thread stands behind a system call that did nothing: before it again, the tracer executes it. False: it would
/// have reached beyond the copy.
Result<bool> NativeRun::make_call() {
    auto registers = TRY(copy_.registers());
    constexpr std::uint8_t system_call[2] = {0x0f, 0x05};
    std::uint8_t bytes[sizeof system_call] = {};
    const std::uint64_t at = registers.instruction_pointer() - sizeof system_call;
    if (copy_.read(at, bytes, sizeof bytes) != sizeof bytes || std::memcmp(bytes, system_call, sizeof bytes) != 0)
        return false;
    registers.set_instruction_pointer(at);
    registers.native.rax = registers.native.orig_rax;
    registers.native.orig_rax = ~0ull;
    TRY(copy_.set_registers(registers));
    // Its first step may end with the call that was left out, and not with this one.
    constexpr int most_steps = 3;
    for (int i = 0; i < most_steps; ++i) {
        Trace ignored;
        const auto traced = TRY(tracer_.trace(1, ignored));
        if (traced.ended || traced.ended_early != EndedEarly::none) return false;
        if (TRY(copy_.registers()).instruction_pointer() != at) return true;
    }
    return false;
}

/// Where the signal came from an instruction that reads the time stamp counter, does its work.
Result<bool> NativeRun::show_time_stamp(Progress& progress) {
    auto registers = TRY(copy_.registers());
    constexpr std::uint8_t reads[2] = {0x0f, 0x31}, reads_with_cpu[3] = {0x0f, 0x01, 0xf9};
    std::uint8_t bytes[sizeof reads_with_cpu] = {};
    const std::uint64_t at = registers.instruction_pointer();
    const std::size_t got = copy_.read(at, bytes, sizeof bytes);
    const bool with_cpu = got >= sizeof reads_with_cpu && std::memcmp(bytes, reads_with_cpu, sizeof bytes) == 0;
    if (!with_cpu && (got < sizeof reads || std::memcmp(bytes, reads, sizeof reads) != 0)) return false;
    constexpr unsigned half = 32;
    const std::uint64_t now = tracer_.time_stamp() + progress.ticks();
    registers.native.rax = now & 0xffffffff;
    registers.native.rdx = now >> half;
    if (with_cpu) registers.native.rcx = 0;
    registers.set_instruction_pointer(at + (with_cpu ? sizeof reads_with_cpu : sizeof reads));
    TRY(copy_.set_registers(registers));
    return true;
}

Result<> NativeRun::let_read_time_stamps(bool allowed) {
    TRY(inject_system_call(
        copy_, SYS_prctl,
        {PR_SET_TSC, static_cast<std::uint64_t>(allowed ? PR_TSC_ENABLE : PR_TSC_SIGSEGV), 0, 0, 0, 0}));
    return {};
}

#endif

}  // namespace tmaprobe::trace
