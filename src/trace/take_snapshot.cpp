#include "trace/snapshot.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "process/held_command.h"
#include "process/helper.h"
#include "process/running_threads.h"
#include "trace/copy_clock.h"
#include "trace/counted_memory.h"
#include "trace/private_mappings.h"
#include "trace/remote_calls.h"
#include "trace/snapshot_checks.h"
#include "trace/touched_memory.h"
#include "trace/turns.h"

// How a copy is made. A copy that the original forked itself would be a child to wait for, with its descriptors open.
// So the original makes a helper that shares its memory and descriptors; the helper forks the copy, which leaves the
// descriptors for an empty table; the helper is killed, and the original reaps it without SIGCHLD (exit signal 0).
namespace tmaprobe::trace {
namespace {

/// The system call is done, and nothing of it has to be begun again.
bool has_result(const Registers& registers) {
#if defined(__x86_64__)
    return !awaits_restart(registers) && static_cast<long long>(registers.native.rax) != -EINTR;
#else
    static_cast<void>(registers);
    return false;
#endif
}

/// Whether the kernel has to see where the thread was interrupted: it would forget that while a call is injected.
bool in_restartable_sequence([[maybe_unused]] pid_t thread, [[maybe_unused]] const Registers& registers) {
#if defined(PTRACE_GET_RSEQ_CONFIGURATION)
    __ptrace_rseq_configuration configuration{};
    const auto got = ::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof configuration, &configuration);
    if (got <= 0 || configuration.rseq_abi_pointer == 0) return false;
    constexpr std::uint64_t sequence_offset = 8;  // in the kernel's struct rseq
    const auto word = [&](std::uint64_t address) {
        return static_cast<std::uint64_t>((errno = 0, ::ptrace(PTRACE_PEEKDATA, thread, address, nullptr)));
    };
    const std::uint64_t sequence = word(configuration.rseq_abi_pointer + sequence_offset);
    if (errno != 0) return true;
    if (sequence == 0) return false;
    const std::uint64_t start = word(sequence + 8),
                        length = word(sequence + 16);  // struct rseq_cs: start_ip, post_commit_offset
    return errno != 0 || registers.instruction_pointer() - start < length;
#else
    return false;
#endif
}

bool has_system_call_at(pid_t thread, std::uint64_t address) {
#if defined(__x86_64__)
    const auto word = static_cast<std::uint64_t>((errno = 0, ::ptrace(PTRACE_PEEKTEXT, thread, address, nullptr)));
    constexpr std::uint64_t instruction = 0x050f, instruction_mask = 0xffff;
    return errno == 0 && (word & instruction_mask) == instruction;
#else
    const auto word = static_cast<std::uint64_t>((errno = 0, ::ptrace(PTRACE_PEEKTEXT, thread, address, nullptr)));
    constexpr std::uint64_t instruction = 0xd4000001, instruction_mask = 0xffffffff;
    return errno == 0 && (word & instruction_mask) == instruction;
#endif
}

/// An orphaned copy is nobody's in the program; one that a process of the program has inherited is told to it. Those
/// whose work is to reap whatever comes take no notice of one more.
bool fell_to_a_reaper(pid_t copy) {
    constexpr std::string_view reapers[] = {"systemd",     "init",   "tini",      "dumb-init",
                                            "docker-init", "conmon", "catatonit", "containerd-shim"};
    constexpr pid_t init = 1;
    const pid_t parent = parent_of(copy);
    return parent == init || std::ranges::find(reapers, process::program_of(parent)) != std::end(reapers);
}

}  // namespace

/// One attempt.
struct SnapshotTaker {
    pid_t process, thread;
    EndingThreads& ending;
    pid_t reaper;
    bool after_call = false;
    Candidate candidate{};
    SnapshotAttempt attempt{};
    std::uint64_t start_ns = 0;
    std::optional<GoingBefore> going_before{};
    std::vector<CountedMapping> counted{};
    std::vector<SharedMapping> written{};

    SnapshotAttempt miss(Missed why, std::string words = {}) {
        attempt.snapshot.reset();
        attempt.missed = why;
        attempt.why = std::move(words);
        return std::move(attempt);
    }

    bool examined() {
        candidate = examine(process, thread);
        if (!candidate.missed && ::syscall(SYS_close_range, ~0U, ~0U, 0) != 0) candidate.missed = Missed::old_kernel;
        return !candidate.missed;
    }

    SnapshotAttempt take_running() {
        if (!examined()) return miss(*candidate.missed, candidate.why);
        const Undisturbed undisturbed;
        // Without options until it stands: a thread that it started meanwhile would be ours, too, and wait for us.
        if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0)
            return miss(errno == ESRCH ? Missed::gone : Missed::refused, std::strerror(errno));
        const std::uint64_t waited = waited_for_a_cpu_ns();
        start_ns = process::now_ns();
        if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return gone();
        const auto stop = wait_for_first_stop();
        if (stop.late) {
            ending.add(thread, process);
            return miss(Missed::waiting);
        }
        // Until it had a CPU again it waited for others, and would have without us.
        start_ns += std::min(process::now_ns() - start_ns, waited_for_a_cpu_ns() - waited);
        const auto status = stop.status;
        if (has_ended(status)) return changed_or_gone(status);
        // A signal that came first goes its way, with all that its sender said; a stop of the whole process stays one.
        if (event_of(*status) == 0) {
            let_go(WSTOPSIG(*status));
            return miss(Missed::signalled);
        }
        if (event_of(*status) != PTRACE_EVENT_STOP || WSTOPSIG(*status) != SIGTRAP) {
            let_go(0);
            return miss(Missed::stopped);
        }
        const auto registers = read_registers(thread);
        if (!registers) return gone();
        if (in_system_call(*registers)) {
            if (auto unfinished = UnfinishedCall::find(process, thread, *registers)) {
                ending.add(thread, process, std::move(*unfinished));
                return miss(Missed::in_kernel);
            }
            if (!after_call || !has_result(*registers)) {
                begin_again(process, thread, *registers);
                let_go(0);
                return miss(Missed::in_kernel);
            }
        }
        if (::ptrace(PTRACE_SETOPTIONS, thread, nullptr, options_for_calls) != 0) return gone();
        return copy_stopped(*registers);
    }

    SnapshotAttempt take_after_exec() {
        const Undisturbed undisturbed;
        start_ns = process::now_ns();
        if (::ptrace(PTRACE_SETOPTIONS, thread, nullptr, options_for_calls) != 0 ||
            ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr) != 0) {
            return gone();
        }
        const auto status = wait_for_stop(thread);
        if (has_ended(status)) return miss(Missed::gone);
        const auto registers = read_registers(thread);
        candidate = examine_own(process, thread);
        if (event_of(*status) != 0 || WSTOPSIG(*status) != (SIGTRAP | 0x80) || !registers || candidate.missed) {
            let_go(event_of(*status) == 0 && WSTOPSIG(*status) != (SIGTRAP | 0x80) ? WSTOPSIG(*status) : 0);
            return miss(candidate.missed.value_or(Missed::signalled), candidate.why);
        }
        return copy_stopped(*registers);
    }

    /// For which it could have run and had no CPU; never less than before. 0: the kernel keeps no account of it.
    std::uint64_t waited_for_a_cpu_ns() const {
        const std::string line =
            read_line("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/schedstat");
        const std::size_t second = line.find(' ');
        return second == std::string::npos ? 0 : std::strtoull(line.c_str() + second, nullptr, 10);
    }

    struct FirstStop {
        std::optional<int> status;  ///< as wait_for_stop()
        bool late = false;          ///< it has not come yet
    };

    /// Of a thread that runs. Not for ever: one that waits for the child of its vfork() stops when that is done, and a
    /// first thread that has ended before the others is told of when they have, too. Looks again and again, since
    /// nobody is told of a thread that has got another number (changed_or_gone()).
    FirstStop wait_for_first_stop() const {
        constexpr std::uint64_t patience_ns = 20'000'000;
        constexpr timespec look_again{0, 1'000'000};
        sigset_t told;
        sigemptyset(&told);
        sigaddset(&told, SIGCHLD);
        const std::uint64_t start = process::now_ns();
        do {
            int status = 0;
            const pid_t got = ::waitpid(thread, &status, __WALL | WNOHANG);
            if (got == thread) return {status};
            if (got < 0 && errno != EINTR) return {};
            ::sigtimedwait(&told, nullptr, &look_again);  // held back by Undisturbed, so that none is lost
        } while (process::now_ns() - start < patience_ns);
        return {{}, true};
    }

    /// A thread that executes another program goes on as the first of its process, under that one's number, and is
    /// ours still.
    SnapshotAttempt changed_or_gone(const std::optional<int>& status) {
        if (!status && thread != process) ending.add(process, process);
        return miss(Missed::gone);
    }

    /// It is being killed: its end is told to its parent when we have seen it.
    SnapshotAttempt gone() {
        ending.add(thread, process);
        return miss(Missed::gone);
    }

    void let_go(int signal) {
        going_before.reset();
        if (::ptrace(PTRACE_DETACH, thread, nullptr, signal) != 0) ending.add(thread, process);
        attempt.pause_ns = process::now_ns() - start_ns;
    }

    SnapshotAttempt copy_stopped(Registers registers) {
        std::optional<Missed> better_not;
        if (!is_plain_64_bit_code(registers))
            better_not = Missed::other_code;
        else if (in_restartable_sequence(thread, registers))
            better_not = Missed::critical;
        else if (!has_system_call_at(thread, candidate.instruction))
            better_not = Missed::gone;  // another program by now
        if (better_not) {
            let_go(0);
            return miss(*better_not);
        }
#if defined(__x86_64__)
        registers.native.orig_rax = ~0ull;
#endif
        // Not before it stands: it may have just mapped them.
        const std::string maps = read_file("/proc/" + std::to_string(process) + "/maps").value_or("");
        counted = counted_mappings(process, maps);
        written = written_files(maps);
        if (!counted.empty() && !candidate.alone) {
            // While a fork leaves it out, another thread's own children would not get it either.
            let_go(0);
            return miss(Missed::shared_memory, "several threads share memory whose users are counted");
        }
        // What it started before it stood would go before all others, too.
        going_before.emplace(thread);
        RemoteCalls original(thread, registers, candidate.instruction);
        Snapshot snapshot;
        snapshot.process = process;
        snapshot.thread = thread;
        snapshot.program = candidate.program;
        snapshot.identity = candidate.identity;
        snapshot.instruction = candidate.instruction;
        snapshot.resident_bytes = candidate.resident_bytes;
        snapshot.faults_before = minor_faults(process);

        int signal = 0;
        if (!set_counted_memory(original, MADV_DONTFORK, signal)) {
            set_counted_memory(original, MADV_DOFORK, signal);
            original.restore();
            let_go(signal);
            return miss(signal ? Missed::signalled : Missed::shared_memory);
        }
        // A child of its own parent, where that is us; else its own, without an exit signal.
        const bool sibling = reaper > 0 && candidate.parent == reaper;
        const std::uint64_t relation = sibling ? CLONE_PARENT : 0;
        const auto cloned = original.call(SYS_clone, {CLONE_VM | CLONE_FILES | relation});
        if (cloned.gone) {
            kill_traced(cloned.created);
            return gone();
        }
        const pid_t helper = cloned.created;
        const bool cloned_well = cloned.value && *cloned.value > 0 && helper > 0;
        const auto failed = cloned_well ? fork_copy(helper, registers, relation, snapshot) : reason_of(cloned);
        kill_traced(helper);
        if (snapshot.copy() > 0) {
            snapshot.files = open_files(process);
            snapshot.descriptors = std::move(candidate.descriptors);
            snapshot.input = waiting_input(process, candidate.input);
        }
        if (cloned.signal) signal = cloned.signal;
        if (helper > 0 && cloned.value && !sibling) reap(original, *cloned.value, signal);
        set_counted_memory(original, MADV_DOFORK, signal);
        original.restore();
        let_go(signal);
        if (failed) return miss(*failed);
        if (!sibling && !fell_to_a_reaper(snapshot.copy())) return miss(Missed::adopted);
        return isolate(std::move(snapshot), registers);
    }

    static std::optional<Missed> reason_of(const RemoteCalls::Answer& answer) {
        if (answer.gone) return Missed::gone;
        if (answer.signal) return Missed::signalled;
        if (!answer.value) return Missed::stopped;
        constexpr std::int64_t to_be_started_again = -513;  // a signal came: the kernel would begin anew after it
        switch (*answer.value) {
            case -ENOMEM:
                return Missed::no_memory;
            case -EAGAIN:
                return Missed::no_processes;
            case to_be_started_again:
                return Missed::signalled;
            default:
                return Missed::failed;
        }
    }

    /// The helper forks the copy, which gives up the descriptors and the files that it could write at once: as long as
    /// it has them nobody can execute them. Nothing, or why it did not.
    std::optional<Missed> fork_copy(pid_t helper, const Registers& registers, std::uint64_t relation,
                                    Snapshot& snapshot) const {
        if (has_ended(wait_for_stop(helper))) return Missed::gone;
        if (::ptrace(PTRACE_SETOPTIONS, helper, nullptr, options_for_calls | PTRACE_O_EXITKILL) != 0)
            return Missed::gone;
        hurry(helper);
        come_here(helper);
        const auto own = read_registers(helper);
        if (!own) return Missed::gone;
        RemoteCalls calls(helper, *own, snapshot.instruction);
        const auto forked = calls.call(SYS_clone, {CLONE_FILES | relation});
        if (!forked.value || *forked.value <= 0 || forked.created <= 0) {
            kill_traced(forked.created);
            return reason_of(forked);
        }
        snapshot.copy_ = forked.created;
        ::kill(helper, SIGKILL);  // it ends while the copy is at work
        if (has_ended(wait_for_stop(snapshot.copy_))) {
            snapshot.copy_ = -1;
            return Missed::gone;
        }
        hurry(snapshot.copy_);
        RemoteCalls copied(snapshot.copy_, registers, snapshot.instruction);
        const auto closed = copied.call(SYS_close_range, {0, ~0U, CLOSE_RANGE_UNSHARE});
        // Nothing else is to be put where they were.
        const bool free_of_files = std::ranges::all_of(written, [&](const SharedMapping& mapping) {
            const auto put =
                copied.call(SYS_mmap, {mapping.begin, mapping.bytes(), PROT_NONE,
                                       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~std::uint64_t{0}, 0});
            return put.value && static_cast<std::uint64_t>(*put.value) == mapping.begin;
        });
        if (closed.value == 0 && free_of_files) return std::nullopt;
        kill_traced(snapshot.release());
        return closed.value == 0 ? Missed::shared_memory : Missed::old_kernel;
    }

    /// A call that must not be left out: all signals are put off, so that none comes between. One that comes all the
    /// same is to be delivered when the original is let go.
    std::optional<std::int64_t> call_surely(RemoteCalls& original, long number,
                                            const std::array<std::uint64_t, 6>& arguments, int& signal) const {
        sigset_t own{};
        constexpr std::size_t mask_bytes = 8;
        const auto bytes = reinterpret_cast<void*>(mask_bytes);
        if (::ptrace(PTRACE_GETSIGMASK, thread, bytes, &own) != 0) return std::nullopt;
        sigset_t all;
        sigfillset(&all);
        ::ptrace(PTRACE_SETSIGMASK, thread, bytes, &all);
        // A stop of the whole process may come all the same, before the call has begun.
        constexpr int most_tries = 16;
        RemoteCalls::Answer answer;
        for (int i = 0; i < most_tries && !answer.value && !answer.gone; ++i) {
            answer = original.call(number, arguments);
            if (answer.signal) signal = answer.signal;
        }
        ::ptrace(PTRACE_SETSIGMASK, thread, bytes, &own);
        return answer.value;
    }

    void reap(RemoteCalls& original, std::int64_t helper, int& signal) const {
        call_surely(original, SYS_wait4, {static_cast<std::uint64_t>(helper), 0, WNOHANG | __WALL, 0}, signal);
    }

    /// MADV_DONTFORK: the copy gets none of it. MADV_DOFORK: the original's own children get it again.
    bool set_counted_memory(RemoteCalls& original, std::uint64_t advice, int& signal) const {
        bool all = true;
        for (const CountedMapping& mapping : counted)
            if (mapping.forked)
                all &= call_surely(original, SYS_madvise, {mapping.memory.begin, mapping.memory.bytes(), advice},
                                   signal) == 0;
        return all;
    }

    /// What the original need not wait for.
    SnapshotAttempt isolate(Snapshot snapshot, const Registers& registers) {
        const pid_t copy = snapshot.copy();
        take_time(copy);
        go_where(copy, thread);
        RemoteCalls calls(copy, registers, snapshot.instruction);
        constexpr std::size_t robust_list_bytes = 24;
        // Not before it has left the original's session, of which it would change the share.
        if (const auto left = calls.call(SYS_setsid); left.value && *left.value > 0) process::step_back(copy);
        calls.call(SYS_set_robust_list, {0, robust_list_bytes});
        const rlimit no_core{0, 0};
        ::prlimit(copy, RLIMIT_CORE, &no_core, nullptr);
        // Should memory become short all the same, this goes first.
        static_cast<void>(write_file("/proc/" + std::to_string(copy) + "/oom_score_adj", "1000"));
        TouchedMemory touched(process, copy, calls);
        for (const CountedMapping& mapping : counted)
            touched.bring_in(mapping.memory.begin, mapping.memory.end, mapping.memory.protection, false);
        std::string shared;
        const bool alone = make_mappings_private(copy, written, touched, calls, shared);
        if (!alone) return miss(Missed::shared_memory, shared);
        snapshot.time_stamp = stop_clocks(copy, calls);
        if (!calls.restore()) return miss(Missed::gone);
        attempt.snapshot = std::move(snapshot);
        return std::move(attempt);
    }
};

SnapshotAttempt take_snapshot(pid_t process, pid_t thread, EndingThreads& ending, pid_t reaper, bool after_call) {
    ending.hold_the_end();
    auto attempt = SnapshotTaker{process, thread, ending, reaper, after_call}.take_running();
    ending.settle();
    return attempt;
}

SnapshotAttempt take_snapshot_after_exec(pid_t process, EndingThreads& ending, pid_t reaper) {
    return SnapshotTaker{process, process, ending, reaper}.take_after_exec();
}

}  // namespace tmaprobe::trace
