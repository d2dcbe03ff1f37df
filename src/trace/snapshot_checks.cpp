#include "trace/snapshot_checks.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "process/running_threads.h"
#include "trace/read_memory.h"
#include "trace/room_for_copy.h"

namespace tmaprobe::trace {
namespace {

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

/// The value after a key of /proc/PID/status; empty when it is not there.
std::string field(const std::string& status, const char* key) {
    const std::string wanted = std::string("\n") + key + ":";
    const std::size_t at = status.find(wanted);
    if (at == std::string::npos) return {};
    const std::size_t begin = status.find_first_not_of(" \t", at + wanted.size()), end = status.find('\n', at + 1);
    return begin == std::string::npos || begin >= end ? std::string() : status.substr(begin, end - begin);
}

/// Of a process's numbers in all namespaces the one that it sees itself.
pid_t innermost(const std::string& numbers) {
    const std::size_t last = numbers.find_last_of(" \t");
    return static_cast<pid_t>(std::atol(numbers.c_str() + (last == std::string::npos ? 0 : last + 1)));
}

std::uint64_t mask(const std::string& status, const char* key) {
    return std::strtoull(field(status, key).c_str(), nullptr, 16);
}

/// Filters of our own, that a container has put on everything in it, cannot forbid more there than here.
bool is_sandboxed(const std::string& status) {
    const auto own = read_file("/proc/self/status");
    if (field(status, "Seccomp").empty() || field(status, "Seccomp") == "0") return false;
    return !own || field(*own, "Seccomp") != field(status, "Seccomp") ||
           field(*own, "Seccomp_filters") != field(status, "Seccomp_filters");
}

bool is_64_bit(pid_t process) {
    const Fd program(::open((folder_of(process) + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
    unsigned char head[EI_NIDENT] = {};
    // Not to be read is not to be known: the registers tell later.
    return !program || ::read(program.get(), head, sizeof head) != sizeof head || head[EI_CLASS] == ELFCLASS64;
}

std::uint64_t resident_bytes(pid_t process) {
    unsigned long long pages = 0;
    std::sscanf(read_line(folder_of(process) + "/statm").c_str(), "%*u %llu", &pages);
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A system call instruction in what the kernel maps into every process; 0: none.
std::uint64_t system_call_instruction(pid_t process) {
    const auto text = read_file(folder_of(process) + "/auxv");
    if (!text) return 0;
    std::uint64_t vdso = 0;
    for (std::size_t at = 0; at + 16 <= text->size(); at += 16) {
        std::uint64_t pair[2];
        std::memcpy(pair, text->data() + at, sizeof pair);
        if (pair[0] == AT_SYSINFO_EHDR) vdso = pair[1];
    }
    if (!vdso) return 0;
    std::array<std::uint8_t, 16384> code;
    std::size_t known = 0;
    for (constexpr std::size_t page_bytes = 4096; known < code.size(); known += page_bytes)
        if (read_memory(process, vdso + known, code.data() + known, page_bytes) != page_bytes) break;
#if defined(__aarch64__)
    constexpr std::uint8_t instruction[] = {0x01, 0x00, 0x00, 0xd4};
#else
    constexpr std::uint8_t instruction[] = {0x0f, 0x05};
#endif
    const auto end = code.begin() + static_cast<std::ptrdiff_t>(known);
    const auto found = std::search(code.begin(), end, std::begin(instruction), std::end(instruction));
    return found == end ? 0 : vdso + static_cast<std::uint64_t>(found - code.begin());
}

/// What is behind a process's descriptors, as far as it matters to a copy.
struct Descriptors {
    bool special = false;  ///< a fork would be noticed
    std::vector<int> numbers;
    InputDescriptors input;
};

Descriptors descriptors_of(pid_t process) {
    Descriptors found;
    const std::string folder = folder_of(process) + "/fd";
    DIR* const list = ::opendir(folder.c_str());
    if (!list) return found;
    constexpr int most = 4096;
    int seen = 0;
    while (const dirent* entry = ::readdir(list)) {
        char target[64] = {};
        if (++seen > most || found.special) break;
        if (::readlink((folder + "/" + entry->d_name).c_str(), target, sizeof target - 1) <= 0) continue;
        const std::string_view what = target;
        found.special = what == "anon_inode:[userfaultfd]";
        found.numbers.push_back(std::atoi(entry->d_name));
        if (what.starts_with("socket:")) found.input.sockets.push_back(std::atoi(entry->d_name));
        if (what == "anon_inode:[eventpoll]") found.input.epolls.push_back(std::atoi(entry->d_name));
    }
    ::closedir(list);
    return found;
}

/// Whether another thread waits for children of every kind: it would be told of the helper that a copy takes.
bool waits_for_clones(pid_t process, pid_t but) {
    const std::string folder = folder_of(process) + "/task";
    DIR* const list = ::opendir(folder.c_str());
    if (!list) return false;
    bool waits = false;
    constexpr int most = 256;
    int seen = 0;
    while (const dirent* entry = ::readdir(list)) {
        const pid_t thread = static_cast<pid_t>(std::atol(entry->d_name));
        if (thread <= 0 || thread == but) continue;
        if (++seen > most || waits) break;
        long number = -1;
        unsigned long long arguments[4] = {};
        const std::string call = read_line(folder + "/" + entry->d_name + "/syscall");
        if (std::sscanf(call.c_str(), "%ld %llx %llx %llx %llx", &number, &arguments[0], &arguments[1], &arguments[2],
                        &arguments[3]) != 5)
            continue;
        const unsigned long long options = number == SYS_wait4 ? arguments[2] : number == SYS_waitid ? arguments[3] : 0;
        waits = (options & (static_cast<unsigned>(__WALL) | static_cast<unsigned>(__WCLONE))) != 0;
    }
    ::closedir(list);
    return waits;
}

Candidate examine(pid_t process, pid_t thread, bool stopped_by_us) {
    Candidate candidate;
    const auto missed = [&](Missed why, std::string words = {}) {
        candidate.missed = why;
        candidate.why = std::move(words);
        return candidate;
    };
    const auto status = read_file(folder_of(process) + "/task/" + std::to_string(thread) + "/status");
    if (!status) return missed(Missed::gone);
    const std::string state = field(*status, "State");
    if (state.starts_with("Z") || state.starts_with("X")) return missed(Missed::gone);
    if (!stopped_by_us) {
        if (state.starts_with("T")) return missed(Missed::stopped);
        if (state.starts_with("t") || field(*status, "TracerPid") != "0") return missed(Missed::traced);
        if (!state.starts_with("R")) return missed(Missed::waiting);
    }
    if (field(*status, "VmRSS").empty()) return missed(Missed::gone);  // no memory: of the kernel, or about to end
    if (is_sandboxed(*status)) return missed(Missed::sandboxed);
    if (field(*status, "NSpid").find('\t') != std::string::npos) return missed(Missed::other_namespace);
    candidate.alone = field(*status, "Threads") == "1";
    if (!is_64_bit(process)) return missed(Missed::other_code);
    auto descriptors = descriptors_of(process);
    if (descriptors.special) return missed(Missed::special_files);
    candidate.input = std::move(descriptors.input);
    candidate.descriptors = std::move(descriptors.numbers);
    if (waits_for_clones(process, thread)) return missed(Missed::waits_for_clones);
    candidate.resident_bytes = resident_bytes(process);
    if (const auto room = lacks_room(process, candidate.resident_bytes)) return missed(*room);
    candidate.instruction = system_call_instruction(process);
    if (!candidate.instruction) return missed(Missed::failed, "no system call instruction was found");
    candidate.program = read_line(folder_of(process) + "/comm");
    candidate.identity.thread = innermost(field(*status, "NSpid"));
    candidate.identity.process = innermost(field(*status, "NStgid"));
    candidate.identity.group = innermost(field(*status, "NSpgid"));
    candidate.identity.session = innermost(field(*status, "NSsid"));
    candidate.parent = static_cast<pid_t>(std::atol(field(*status, "PPid").c_str()));
    candidate.identity.parent = candidate.parent;
    return candidate;
}

}  // namespace

Candidate examine(pid_t process, pid_t thread) { return examine(process, thread, false); }
Candidate examine_own(pid_t process, pid_t thread) { return examine(process, thread, true); }

Result<> check_can_be_sampled(pid_t process) {
    const std::string named = "process " + std::to_string(process);
    switch (process::state_of(process)) {
        case process::ProcessState::gone:
            return fail(ErrorCode::unavailable, "there is no " + named, "ps -e shows those there are");
        case process::ProcessState::zombie:
            return fail(ErrorCode::unavailable, named + " is a zombie: it has ended, and its parent was not told yet",
                        "ps -e shows those that run");
        case process::ProcessState::of_kernel:
            return fail(ErrorCode::unavailable, named + " is a kernel thread: it has no code of its own to model",
                        "ps -e shows those there are; --system-wide counts the kernel, too, where there are counters");
        default:
            break;
    }
    // To open this file asks for the permission to trace, and does nothing.
    const Fd memory(::open((folder_of(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (memory || (errno != EACCES && errno != EPERM)) return {};
    const std::string scope = read_line("/proc/sys/kernel/yama/ptrace_scope");
    return fail(ErrorCode::no_permission,
                "this user may not trace " + named + ", which modelling needs" +
                    (scope.empty() || scope == "0" ? "" : " (kernel.yama.ptrace_scope is " + scope + ")"),
                "run as the same user with kernel.yama.ptrace_scope 0, or as root (CAP_SYS_PTRACE); --source none "
                "counts what the kernel allows");
}

pid_t parent_of(pid_t process) {
    const auto status = read_file(folder_of(process) + "/status");
    return status ? static_cast<pid_t>(std::atol(field(*status, "PPid").c_str())) : 0;
}

bool has_pending_signal(pid_t process, pid_t thread) {
    const auto status = read_file(folder_of(process) + "/task/" + std::to_string(thread) + "/status");
    return status && ((mask(*status, "SigPnd") | mask(*status, "ShdPnd")) & ~mask(*status, "SigBlk")) != 0;
}

std::vector<OpenFile> open_files(pid_t process) {
    // The program waits meanwhile: more descriptors than these cost more than a read of one of them is worth.
    constexpr int most = 16;
    std::vector<OpenFile> files;
    for (int descriptor = 0; descriptor < most; ++descriptor) {
        struct stat status{};
        const std::string number = std::to_string(descriptor);
        if (::stat((folder_of(process) + "/fd/" + number).c_str(), &status) != 0) continue;
        const auto text = read_file(folder_of(process) + "/fdinfo/" + number);
        long long offset = 0;
        unsigned flags = 0;
        if (!text || std::sscanf(text->c_str(), "pos: %lld flags: %o", &offset, &flags) != 2) continue;
        files.push_back({descriptor, status, offset, flags, {}});
    }
    return files;
}

void find_paths(pid_t process, std::vector<OpenFile>& files) {
    std::error_code failed;
    for (OpenFile& file : files)
        if (S_ISREG(file.status.st_mode))
            file.path =
                std::filesystem::read_symlink(folder_of(process) + "/fd/" + std::to_string(file.descriptor), failed);
}

std::uint64_t minor_faults(pid_t process) {
    const std::string line = read_line(folder_of(process) + "/stat");
    const std::size_t after = line.rfind(')');
    unsigned long long faults = 0;
    if (after != std::string::npos) std::sscanf(line.c_str() + after + 1, " %*c %*d %*d %*d %*d %*d %*u %llu", &faults);
    return faults;
}

}  // namespace tmaprobe::trace
