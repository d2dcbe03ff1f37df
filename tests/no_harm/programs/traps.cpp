// SIGTRAP is the program's own: int3, raise, the trap flag, and dying by it.
#include <sys/resource.h>
#include <ucontext.h>

#include "case.h"

using namespace no_harm;

namespace {

volatile sig_atomic_t traps;
volatile sig_atomic_t codes[8];

void count_trap(int, siginfo_t* info, void*) {
    traps = traps + 1;
    if (info->si_code >= 0 && info->si_code < 8) codes[info->si_code] = codes[info->si_code] + 1;
}

void no_core() {
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

void handled_breakpoints() {
    handle(SIGTRAP, count_trap);
    int raised = 0;
    for (Span span; span.lasts(); ++raised) {
        busy(0.2);
        asm volatile("int3");
    }
    expect_equal("breakpoints handled", traps, raised);
}

void handled_raise() {
    handle(SIGTRAP, count_trap);
    int raised = 0;
    for (Span span; span.lasts(); ++raised) {
        busy(0.2);
        raise(SIGTRAP);
    }
    expect_equal("raised and handled", traps, raised);
}

void ignored() {
    signal(SIGTRAP, SIG_IGN);
    for (Span span; span.lasts();) {
        busy(0.5);
        raise(SIGTRAP);
    }
}

void dies_of_breakpoint() {
    no_core();
    busy(work_ms());
    asm volatile("int3");
    expect(false, "the process is dead");
}

void dies_of_raise() {
    no_core();
    busy(work_ms());
    raise(SIGTRAP);
    expect(false, "the process is dead");
}

void child_dies_of_it() {
    for (Span span; span.lasts();) {
        int status = wait_for(child_of([] {
            no_core();
            busy(20);
            asm volatile("int3");
            return 0;
        }));
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP, "the child died of SIGTRAP")) return;
    }
}

void icebp() {
    // Under some hypervisors the processor never comes past this instruction.
    const pid_t trial = child_of([] {
        handle(SIGTRAP, count_trap);
        alarm(5);
        asm volatile(".byte 0xf1");
        return 0;
    });
    if (wait_for(trial) != 0) skip("this machine does not come past an icebp");
    handle(SIGTRAP, count_trap);
    int raised = 0;
    for (Span span; span.lasts(); ++raised) {
        busy(0.2);
        asm volatile(".byte 0xf1");
    }
    expect_equal("icebp handled", traps, raised);
}

/// Sets the trap flag, executes 12 instructions, and clears it: the handler runs once for each.
void steps_itself() {
    handle(SIGTRAP, count_trap);
    int rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        busy(0.2);
        asm volatile(
            "sub $128, %%rsp\n"
            "pushfq\n"
            "orq $0x100, (%%rsp)\n"
            "popfq\n"
            "nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n"
            "pushfq\n"
            "andq $~0x100, (%%rsp)\n"
            "popfq\n"
            "add $128, %%rsp\n" ::
                : "memory", "cc");
    }
    expect_equal("steps", traps, 12LL * rounds);
    expect_equal("of them by the trap flag", codes[TRAP_TRACE], 12LL * rounds);
}

void step_over(int, siginfo_t*, void* context) {
    traps = traps + 1;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;
}

void undefined_instruction() {
    handle(SIGILL, step_over);
    int raised = 0;
    for (Span span; span.lasts(); ++raised) {
        busy(0.2);
        asm volatile("ud2");
    }
    expect_equal("handled", traps, raised);
}

void blocked_and_taken() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    for (Span span; span.lasts();) {
        busy(1);
        raise(SIGTRAP);
        int taken = 0;
        sigwait(&set, &taken);
        if (!expect_equal("signal", taken, SIGTRAP)) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"handled_breakpoints", handled_breakpoints},
        {"handled_raise", handled_raise},
        {"ignored", ignored},
        {"dies_of_breakpoint", dies_of_breakpoint},
        {"dies_of_raise", dies_of_raise},
        {"child_dies_of_it", child_dies_of_it},
        {"icebp", icebp},
        {"steps_itself", steps_itself},
        {"undefined_instruction", undefined_instruction},
        {"blocked_and_taken", blocked_and_taken},
    };
    return run_named(cases, argc, argv);
}
