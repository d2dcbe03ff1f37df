#include "trace/unfinished_call.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include "trace/read_memory.h"
#include "trace/remote_calls.h"
#include "trace/snapshot_checks.h"

namespace tmaprobe::trace {

#if defined(__x86_64__)
namespace {

constexpr std::uint64_t instruction_bytes = 2;  // syscall
constexpr int system_call_stop = SIGTRAP | 0x80;

bool follows_a_system_call(pid_t thread, const Registers& registers) {
    if (!is_plain_64_bit_code(registers)) return false;
    const auto word = static_cast<std::uint64_t>(
        (errno = 0, ::ptrace(PTRACE_PEEKTEXT, thread, registers.instruction_pointer() - instruction_bytes, nullptr)));
    constexpr std::uint64_t instruction = 0x050f, instruction_mask = 0xffff;
    return errno == 0 && (word & instruction_mask) == instruction;
}

/// Memory of the kernel's own, of which a read() ends early for a signal alone.
bool is_endless_source(pid_t process, std::uint64_t descriptor) {
    char target[64] = {};
    const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    if (::readlink(link.c_str(), target, sizeof target - 1) <= 0) return false;
    constexpr std::string_view sources[] = {"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"};
    return std::ranges::find(sources, std::string_view(target)) != std::end(sources);
}

bool is_of_kind(pid_t process, std::uint64_t descriptor, mode_t kind) {
    struct stat status{};
    const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    return ::stat(link.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

/// What ends early at its end alone: of others, the next call may wait for more.
bool is_regular_file(pid_t process, std::uint64_t descriptor) { return is_of_kind(process, descriptor, S_IFREG); }
bool is_socket(pid_t process, std::uint64_t descriptor) { return is_of_kind(process, descriptor, S_IFSOCK); }

}  // namespace

bool in_system_call(const Registers& registers) { return static_cast<std::int64_t>(registers.native.orig_rax) >= 0; }

void begin_again(pid_t process, pid_t thread, const Registers& registers) {
    if (static_cast<std::int64_t>(registers.native.rax) != -EINTR) return;
    // A signal that waits is what ended it.
    if (has_pending_signal(process, thread) || !follows_a_system_call(thread, registers)) return;
    Registers again = registers;
    again.native.rax = registers.native.orig_rax;
    again.native.orig_rax = ~0ull;
    again.set_instruction_pointer(registers.instruction_pointer() - instruction_bytes);
    static_cast<void>(write_registers(thread, again));
}

std::optional<UnfinishedCall> UnfinishedCall::find(pid_t process, pid_t thread, const Registers& registers) {
    const auto& native = registers.native;
    const auto result = static_cast<std::int64_t>(native.rax);
    if (result <= 0) return std::nullopt;
    UnfinishedCall call;
    call.thread_ = thread;
    call.stopped_ = registers;
    call.done_ = static_cast<std::uint64_t>(result);
    switch (native.orig_rax) {
        case SYS_write:
        case SYS_sendto:
            call.parts_ = {{native.rsi, native.rdx}};
            break;
        case SYS_read:
            if (is_endless_source(process, native.rdi)) call.parts_ = {{native.rsi, native.rdx}};
            break;
        case SYS_recvfrom:
            if ((native.r10 & MSG_WAITALL) && !(native.r10 & MSG_PEEK)) call.parts_ = {{native.rsi, native.rdx}};
            break;
        case SYS_getrandom:
            call.parts_ = {{native.rdi, native.rsi}};
            break;
        case SYS_writev:
            if (!call.take_parts(process, native.rsi, native.rdx)) return std::nullopt;
            break;
        case SYS_sendmsg: {
            msghdr message{};
            if (read_memory(process, native.rsi, &message, sizeof message) != sizeof message ||
                !call.take_parts(process, reinterpret_cast<std::uint64_t>(message.msg_iov), message.msg_iovlen))
                return std::nullopt;
            break;
        }
        case SYS_sendfile:
            // Into a pipe it goes as far as there is room, and no further.
            if (!is_regular_file(process, native.rsi) || !is_socket(process, native.rdi)) return std::nullopt;
            call.count_ = &user_regs_struct::r10;
            break;
        case SYS_copy_file_range:
            if (!is_regular_file(process, native.rdi)) return std::nullopt;
            call.count_ = &user_regs_struct::r8;
            break;
        default:
            break;
    }
    if (call.count_) call.total_ = native.*call.count_;
    for (const Part& part : call.parts_) call.total_ += part.bytes;
    constexpr std::uint64_t most_at_once = 0x7ffff000;  // of one call, without any signal
    call.total_ = std::min(call.total_, most_at_once);
    // A signal that waits is what ended it.
    if (call.done_ >= call.total_ || has_pending_signal(process, thread) || !follows_a_system_call(thread, registers))
        return std::nullopt;
    return call;
}

bool UnfinishedCall::take_parts(pid_t process, std::uint64_t list, std::uint64_t count) {
    constexpr std::uint64_t most = 1024;  // the kernel takes no more
    std::vector<iovec> parts(std::min(count, most));
    const std::size_t bytes = parts.size() * sizeof(iovec);
    if (read_memory(process, list, parts.data(), bytes) != bytes) return false;
    for (const iovec& part : parts) parts_.push_back({reinterpret_cast<std::uint64_t>(part.iov_base), part.iov_len});
    return true;
}

UnfinishedCall::Outcome UnfinishedCall::begin() {
    if (::ptrace(PTRACE_SETOPTIONS, thread_, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return Outcome::killed;
    return call_for_the_rest();
}

UnfinishedCall::Outcome UnfinishedCall::call_for_the_rest() {
    Registers call = stopped_;
    call.native.rax = call.native.orig_rax;
    if (count_)
        call.native.*count_ = asked_ = total_ - done_;
    else
        ask_for_parts(call.native);
    call.native.orig_rax = ~0ull;
    call.set_instruction_pointer(stopped_.instruction_pointer() - instruction_bytes);
    entered_ = false;
    if (!write_registers(thread_, call)) return Outcome::killed;
    return run_to_next_stop();
}

void UnfinishedCall::ask_for_parts(user_regs_struct& call) {
    std::uint64_t before = 0;
    std::size_t at = 0;
    while (before + parts_[at].bytes <= done_) before += parts_[at++].bytes;
    const std::uint64_t within = done_ - before;
    const Part rest{parts_[at].at + within, std::min(parts_[at].bytes - within, total_ - done_)};
    asked_ = rest.bytes;
    const auto number = static_cast<long>(call.orig_rax);
    if (number == SYS_getrandom) {
        call.rdi = rest.at;
        call.rsi = rest.bytes;
        return;
    }
    if (number == SYS_writev && within == 0) {
        call.rsi += at * sizeof(iovec);
        call.rdx = parts_.size() - at;
        asked_ = total_ - done_;
        return;
    }
    if (number == SYS_writev) call.rax = SYS_write;
    if (number == SYS_sendmsg) {
        // Descriptors and the like that came along are sent already.
        call.rax = SYS_sendto;
        call.r10 = call.rdx;  // flags
        call.r8 = call.r9 = 0;
    }
    call.rsi = rest.at;
    call.rdx = rest.bytes;
}

UnfinishedCall::Outcome UnfinishedCall::run_to_next_stop() {
    return ::ptrace(PTRACE_SYSCALL, thread_, nullptr, nullptr) == 0 ? Outcome::goes_on : Outcome::killed;
}

UnfinishedCall::Outcome UnfinishedCall::take(int status) {
    if (event_of(status) != 0) return entered_ ? run_to_next_stop() : end(0);
    if (WSTOPSIG(status) != system_call_stop) return end(WSTOPSIG(status));
    if (!entered_) {
        entered_ = true;
        return run_to_next_stop();
    }
    const auto registers = read_registers(thread_);
    if (!registers) return Outcome::killed;
    const auto result = static_cast<std::int64_t>(registers->native.rax);
    if (result > 0) done_ += static_cast<std::uint64_t>(result);
    const bool all = result > 0 && static_cast<std::uint64_t>(result) == asked_;
    return all && done_ < total_ ? call_for_the_rest() : end(0);
}

UnfinishedCall::Outcome UnfinishedCall::end(int signal) {
    stopped_.native.rax = done_;
    const bool written = write_registers(thread_, stopped_).has_value();
    return written && ::ptrace(PTRACE_DETACH, thread_, nullptr, signal) == 0 ? Outcome::let_go : Outcome::killed;
}

#else

bool in_system_call(const Registers&) { return false; }
void begin_again(pid_t, pid_t, const Registers&) {}
std::optional<UnfinishedCall> UnfinishedCall::find(pid_t, pid_t, const Registers&) { return std::nullopt; }
UnfinishedCall::Outcome UnfinishedCall::begin() { return Outcome::killed; }
UnfinishedCall::Outcome UnfinishedCall::take(int) { return Outcome::killed; }

#endif

}  // namespace tmaprobe::trace
