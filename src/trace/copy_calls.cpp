#include "trace/copy_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <vector>

#include "base/fd.h"
#include "base/file.h"
#include "trace/call_kinds.h"

namespace tmaprobe::trace {

struct CopyCalls::Call {
    long number = 0;
    std::array<std::uint64_t, 6> arguments{};

    static Call of(const Registers& registers) {
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

bool is_same(const struct stat& status, const OpenFile& file) {
    return S_ISREG(status.st_mode) && status.st_dev == file.device && status.st_ino == file.inode;
}

/// A duplicate of the original's own descriptor: reading at a place moves nothing and opens nothing. When the original
/// has ended, the file itself, if it is still there. -1: it is not.
Fd open_again(pid_t process, const OpenFile& file) {
    struct stat status{};
    const Fd original(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (original) {
        Fd duplicate(static_cast<int>(::syscall(SYS_pidfd_getfd, original.get(), file.descriptor, 0)));
        if (duplicate && ::fstat(duplicate.get(), &status) == 0 && is_same(status, file)) return duplicate;
    }
    // What has come there in its place is not even opened.
    if (file.path.empty() || ::lstat(file.path.c_str(), &status) != 0 || !is_same(status, file)) return Fd();
    Fd opened(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (opened && ::fstat(opened.get(), &status) == 0 && is_same(status, file)) return opened;
    return Fd();
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
    : original_(snapshot.process), copied_(snapshot.copy()), identity_(snapshot.identity), input_(snapshot.input) {
    for (const OpenFile& file : snapshot.files) files_[file.descriptor] = file;
}

CopyCalls::Answer CopyCalls::end(EndedBy reason) {
    if (!ended_) ended_ = reason;
    return Answer::end;
}

/// As the original would be told.
std::optional<std::int64_t> CopyCalls::own_number(const Call& call) const {
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

CopyCalls::Answer CopyCalls::futex(TracedProcess& copy, Registers& registers, const Call& call) {
    switch (call[1] & FUTEX_CMD_MASK) {
        case FUTEX_WAKE:
        case FUTEX_WAKE_BITSET:
            return answer(copy, registers, 0);  // nobody waits in the copy
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            std::uint32_t value = 0;
            if (copy.read(call[0], &value, sizeof value) != sizeof value) return answer(copy, registers, -EFAULT);
            if (value != static_cast<std::uint32_t>(call[2])) return answer(copy, registers, -EAGAIN);
            return end(EndedBy::waits);
        }
        default:
            return end(EndedBy::waits);
    }
}

CopyCalls::Answer CopyCalls::read(TracedProcess& copy, Registers& registers, const Call& call, bool at_offset) {
    const auto known = files_.find(call.descriptor());
    constexpr std::uint64_t most = 1 << 20;
    if (known == files_.end() || call[2] > most) return end(EndedBy::reads);
    OpenFile& file = known->second;
    const Fd descriptor = open_again(original_, file);
    if (!descriptor) return end(EndedBy::reads);
    std::vector<char> bytes(call[2]);
    const auto offset = at_offset ? static_cast<off_t>(call[3]) : static_cast<off_t>(file.offset);
    const ssize_t got = ::pread(descriptor.get(), bytes.data(), bytes.size(), offset);
    if (got < 0 || (got > 0 && !copy.write(call[1], bytes.data(), static_cast<std::size_t>(got))))
        return end(EndedBy::reads);
    if (!at_offset) file.offset += got;
    return answer(copy, registers, got);
}

CopyCalls::Answer CopyCalls::receive(TracedProcess& copy, Registers& registers, const Call& call) {
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
    if (!pieces) return end(EndedBy::reads);
    const auto got = input_.read(copy, call.descriptor(), *pieces, static_cast<int>(flags));
    return got ? answer(copy, registers, *got) : end(EndedBy::reads);
}

CopyCalls::Answer CopyCalls::wait_for_input(TracedProcess& copy, Registers& registers, const Call& call) {
    const auto got = input_.wait(copy, call.descriptor(), call[1], static_cast<int>(call[2]));
    return got ? answer(copy, registers, *got) : end(EndedBy::waits);
}

CopyCalls::Answer CopyCalls::operator()(TracedProcess& copy, Registers& registers) {
    const Call call = Call::of(registers);
    constexpr int most_yields = 16;
    if (const auto number = own_number(call)) return answer(copy, registers, *number);
    if (touches_only_itself(call.number)) return Answer::carry_out;
    if (goes_well(call.number)) return answer(copy, registers, 0);
    switch (call.number) {
        case SYS_sched_yield:
            return ++yields_ > most_yields ? end(EndedBy::spins) : answer(copy, registers, 0);
        case SYS_futex:
            return futex(copy, registers, call);
        case SYS_mmap:
            return call[3] & MAP_ANONYMOUS ? Answer::carry_out : end(EndedBy::files);
        case SYS_mremap:
            return is_shared(copied_, call[0], call[1]) ? end(EndedBy::other_call) : Answer::carry_out;
        case SYS_mprotect:
            return (call[2] & PROT_WRITE) && is_shared(copied_, call[0], call[1]) ? end(EndedBy::other_call)
                                                                                  : Answer::carry_out;
        case SYS_madvise:
            return is_harmless_advice(call[2]) ? Answer::carry_out : end(EndedBy::other_call);
        case SYS_read:
            return input_.knows(call.descriptor()) ? receive(copy, registers, call)
                                                   : read(copy, registers, call, false);
        case SYS_readv:
        case SYS_recvfrom:
        case SYS_recvmsg:
            return receive(copy, registers, call);
        case SYS_epoll_pwait:
#if defined(__x86_64__)
        case SYS_epoll_wait:
#endif
            return wait_for_input(copy, registers, call);
        case SYS_epoll_ctl: {
            const auto done =
                input_.control(copy, call.descriptor(), static_cast<int>(call[1]), static_cast<int>(call[2]), call[3]);
            return done ? answer(copy, registers, *done) : end(EndedBy::files);
        }
        case SYS_close:
            return input_.close(call.descriptor()) ? answer(copy, registers, 0) : end(EndedBy::files);
        case SYS_pread64:
            return read(copy, registers, call, true);
        // Nobody is told; that a pipe may be full is not known here.
        case SYS_write:
        case SYS_pwrite64:
        case SYS_sendto: {
            if (const auto known = files_.find(call.descriptor());
                call.number == SYS_write && known != files_.end() && !known->second.appends)
                known->second.offset += static_cast<std::int64_t>(call[2]);
            return answer(copy, registers, static_cast<std::int64_t>(call[2]));
        }
        case SYS_writev: {
            const auto pieces = pieces_at(copy, call[1], call[2]);
            return pieces ? answer(copy, registers, bytes_of(*pieces)) : end(EndedBy::other_call);
        }
        case SYS_sendmsg: {
            const auto message = PlainMessage::at(copy, call[1], true);
            return message ? answer(copy, registers, bytes_of(message->pieces)) : end(EndedBy::other_call);
        }
        case SYS_exit:
        case SYS_exit_group:
            return end(EndedBy::exits);
        default:
            break;
    }
    if (receives(call.number)) return end(EndedBy::reads);
    if (waits(call.number)) return end(EndedBy::waits);
    if (starts_or_waits_for_processes(call.number)) return end(EndedBy::processes);
    if (sends_signals(call.number)) return end(EndedBy::signals);
    if (changes_files(call.number)) return end(EndedBy::files);
    return end(EndedBy::other_call);
}

}  // namespace tmaprobe::trace
