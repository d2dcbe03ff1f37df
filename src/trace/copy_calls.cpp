#include "trace/copy_calls.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "trace/call_kinds.h"

namespace tmaprobe::trace {

namespace {

using Answer = CopyCalls::Answer;

/// Goes on behind the call, as if the kernel had returned this.
Answer answer(TracedProcess& copy, Registers registers, std::int64_t value) {
#if defined(__x86_64__)
    constexpr std::uint64_t instruction_bytes = 2;
    registers.native.rip += instruction_bytes;
    registers.native.rax = static_cast<unsigned long long>(value);
    registers.native.rcx = registers.native.rip;  // as the instruction itself leaves them
    registers.native.r11 = registers.native.eflags;
    registers.native.orig_rax = ~0ull;
#else
    constexpr std::uint64_t instruction_bytes = 4;
    registers.native.pc += instruction_bytes;
    registers.native.regs[0] = static_cast<unsigned long long>(value);
#endif
    return copy.set_registers(registers) ? Answer::answered : Answer::end;
}

/// Whether memory that others see lies there: it was left because it cannot be written.
bool is_shared(pid_t process, std::uint64_t begin, std::uint64_t bytes) {
    const auto text = read_file("/proc/" + std::to_string(process) + "/maps");
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    while (std::getline(lines, line)) {
        unsigned long long from = 0, to = 0;
        char permissions[5] = {};
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &from, &to, permissions) != 3) return true;
        if (permissions[3] == 's' && begin < to && begin + bytes > from) return true;
    }
    return !text;
}

/// The pieces of a list of them (iovec); nothing when it cannot be read.
std::optional<std::vector<Piece>> pieces_at(const TracedProcess& copy, std::uint64_t list, std::uint64_t count) {
    constexpr std::uint64_t most = 1024;
    if (count > most) return std::nullopt;
    std::vector<Piece> pieces(count);
    const std::size_t bytes = count * sizeof(Piece);
    if (bytes && copy.read(list, pieces.data(), bytes) != bytes) return std::nullopt;
    return pieces;
}

std::int64_t bytes_of(const std::vector<Piece>& pieces) {
    std::int64_t sum = 0;
    for (const Piece& piece : pieces) sum += static_cast<std::int64_t>(piece.bytes);
    return sum;
}

/// A message without descriptors or addresses: nothing comes or goes but bytes.
struct PlainMessage {
    msghdr header{};
    std::vector<Piece> pieces;

    static std::optional<PlainMessage> at(const TracedProcess& copy, std::uint64_t address, bool sent) {
        PlainMessage message;
        if (copy.read(address, &message.header, sizeof message.header) != sizeof message.header) return std::nullopt;
        if (message.header.msg_name || (sent && message.header.msg_controllen)) return std::nullopt;
        auto pieces =
            pieces_at(copy, reinterpret_cast<std::uint64_t>(message.header.msg_iov), message.header.msg_iovlen);
        if (!pieces) return std::nullopt;
        message.pieces = std::move(*pieces);
        return message;
    }
};

}  // namespace

std::string_view name_of(EndedBy reason) {
    switch (reason) {
        case EndedBy::waits:
            return "waits";
        case EndedBy::reads:
            return "reads";
        case EndedBy::files:
            return "files";
        case EndedBy::processes:
            return "processes";
        case EndedBy::signals:
            return "signals";
        case EndedBy::exits:
            return "exits";
        case EndedBy::spins:
            return "spins";
        case EndedBy::other_call:
            return "other_call";
        case EndedBy::error:
            break;
    }
    return "error";
}

CopyCalls::CopyCalls(const Snapshot& snapshot)
    : copied_(snapshot.copy()), identity_(snapshot.identity), files_(snapshot), input_(snapshot.input) {}

CopyCalls::Answer CopyCalls::operator()(TracedProcess& copy, Registers& registers) {
    const CallOutcome outcome = this->outcome(copy, CopiedCall::of(registers));
    switch (outcome.what) {
        case CallOutcome::What::carried_out:
            return Answer::carry_out;
        case CallOutcome::What::answered:
            return answer(copy, registers, outcome.value);
        case CallOutcome::What::ended:
            break;
    }
    if (!ended_) ended_ = outcome.reason;
    return Answer::end;
}

/// As the original would be told.
std::optional<std::int64_t> CopyCalls::own_number(const CopiedCall& call) const {
    const bool of_itself = call[0] == 0 || static_cast<pid_t>(call[0]) == identity_.process;
    switch (call.number) {
        case SYS_getpid:
            return identity_.process;
        case SYS_gettid:
        case SYS_set_tid_address:
            return identity_.thread;
        case SYS_getppid:
            return identity_.parent;
        case SYS_getpgid:
            return of_itself ? std::optional<std::int64_t>(identity_.group) : std::nullopt;
        case SYS_getsid:
            return of_itself ? std::optional<std::int64_t>(identity_.session) : std::nullopt;
#if defined(__x86_64__)
        case SYS_getpgrp:
            return identity_.group;
#endif
        default:
            return std::nullopt;
    }
}

CallOutcome CopyCalls::futex(TracedProcess& copy, const CopiedCall& call) {
    switch (call[1] & FUTEX_CMD_MASK) {
        case FUTEX_WAKE:
        case FUTEX_WAKE_BITSET:
            return CallOutcome::answered(0);  // nobody waits in the copy
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            std::uint32_t value = 0;
            if (copy.read(call[0], &value, sizeof value) != sizeof value) return CallOutcome::answered(-EFAULT);
            if (value != static_cast<std::uint32_t>(call[2])) return CallOutcome::answered(-EAGAIN);
            break;
        }
        default:
            break;
    }
    return CallOutcome::ended(EndedBy::waits);
}

CallOutcome CopyCalls::receive(TracedProcess& copy, const CopiedCall& call) {
    std::optional<std::vector<Piece>> pieces(std::vector<Piece>{Piece{call[1], call[2]}});
    std::uint64_t flags = 0;
    if (call.number == SYS_readv) pieces = pieces_at(copy, call[1], call[2]);
    if (call.number == SYS_recvfrom) {
        flags = call[3];
        if (call[4]) pieces.reset();  // and from whom
    }
    if (call.number == SYS_recvmsg) {
        flags = call[2];
        auto message = PlainMessage::at(copy, call[1], false);
        pieces.reset();
        if (message && input_.knows(call.descriptor())) {
            message->header.msg_controllen = message->header.msg_flags = 0;
            if (copy.write(call[1], &message->header, sizeof message->header)) pieces = std::move(message->pieces);
        }
    }
    if (!pieces) return CallOutcome::ended(EndedBy::reads);
    const auto got = input_.read(copy, call.descriptor(), *pieces, static_cast<int>(flags));
    return got ? CallOutcome::answered(*got) : CallOutcome::ended(EndedBy::reads);
}

CallOutcome CopyCalls::wait_for_input(TracedProcess& copy, const CopiedCall& call) {
    const auto got = input_.wait(copy, call.descriptor(), call[1], static_cast<int>(call[2]));
    return got ? CallOutcome::answered(*got) : CallOutcome::ended(EndedBy::waits);
}

CallOutcome CopyCalls::close(TracedProcess& copy, const CopiedCall& call) {
    const bool was_input = input_.close(call.descriptor());
    const CallOutcome closed = *files_(copy, call);
    return was_input && closed.what == CallOutcome::What::ended ? CallOutcome::answered(0) : closed;
}

CallOutcome CopyCalls::outcome(TracedProcess& copy, const CopiedCall& call) {
    using Outcome = CallOutcome;
    constexpr int most_yields = 16;
    if (const auto number = own_number(call)) return Outcome::answered(*number);
    if (touches_only_itself(call.number)) return Outcome::carried_out();
    if (goes_well(call.number)) return Outcome::answered(0);
    if (call.number == SYS_close) return close(copy, call);
    if (const auto of_files = files_(copy, call)) return *of_files;
    switch (call.number) {
        case SYS_timer_create: {
            const int number = timers_++;
            return Outcome::answered(copy.write(call[2], &number, sizeof number) ? 0 : -EFAULT);
        }
        case SYS_sched_yield:
            return ++yields_ > most_yields ? Outcome::ended(EndedBy::spins) : Outcome::answered(0);
        case SYS_futex:
            return futex(copy, call);
        case SYS_mmap:
            return Outcome::carried_out();  // of no file
        case SYS_mremap:
            return is_shared(copied_, call[0], call[1]) ? Outcome::ended(EndedBy::other_call) : Outcome::carried_out();
        case SYS_mprotect:
            return (call[2] & PROT_WRITE) && is_shared(copied_, call[0], call[1]) ? Outcome::ended(EndedBy::other_call)
                                                                                  : Outcome::carried_out();
        case SYS_madvise:
            return is_harmless_advice(call[2]) ? Outcome::carried_out() : Outcome::ended(EndedBy::other_call);
        case SYS_prctl:
            return is_of_itself(call[0]) ? Outcome::carried_out() : Outcome::ended(EndedBy::other_call);
        case SYS_prlimit64:
            return call[0] == 0 && call[2] == 0 ? Outcome::carried_out() : Outcome::ended(EndedBy::other_call);
        case SYS_read:
        case SYS_readv:
        case SYS_recvfrom:
        case SYS_recvmsg:
            return receive(copy, call);
        case SYS_epoll_pwait:
#if defined(__x86_64__)
        case SYS_epoll_wait:
#endif
            return wait_for_input(copy, call);
        case SYS_epoll_ctl: {
            const auto done =
                input_.control(copy, call.descriptor(), static_cast<int>(call[1]), static_cast<int>(call[2]), call[3]);
            return done ? Outcome::answered(*done) : Outcome::ended(EndedBy::files);
        }
        // Nobody is told; that a pipe may be full is not known here.
        case SYS_write:
            files_.wrote(call.descriptor(), static_cast<std::int64_t>(call[2]));
            [[fallthrough]];
        case SYS_pwrite64:
        case SYS_sendto:
            return Outcome::answered(static_cast<std::int64_t>(call[2]));
        case SYS_writev: {
            const auto pieces = pieces_at(copy, call[1], call[2]);
            if (!pieces) return Outcome::ended(EndedBy::other_call);
            files_.wrote(call.descriptor(), bytes_of(*pieces));
            return Outcome::answered(bytes_of(*pieces));
        }
        case SYS_sendmsg: {
            const auto message = PlainMessage::at(copy, call[1], true);
            return message ? Outcome::answered(bytes_of(message->pieces)) : Outcome::ended(EndedBy::other_call);
        }
        case SYS_exit:
        case SYS_exit_group:
            return Outcome::ended(EndedBy::exits);
        default:
            break;
    }
    if (receives(call.number)) return Outcome::ended(EndedBy::reads);
    if (waits(call.number)) return Outcome::ended(EndedBy::waits);
    if (starts_or_waits_for_processes(call.number)) return Outcome::ended(EndedBy::processes);
    if (sends_signals(call.number)) return Outcome::ended(EndedBy::signals);
    if (changes_files(call.number)) return Outcome::ended(EndedBy::files);
    return Outcome::ended(EndedBy::other_call);
}

}  // namespace tmaprobe::trace
