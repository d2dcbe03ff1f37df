#include "trace/copy_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "trace/injected_call.h"

namespace tmaprobe::trace {
namespace {

constexpr unsigned memory_devices = 1;  ///< the major number of /dev/null, /dev/zero, /dev/urandom and their like
constexpr unsigned null_device = 3;     ///< /dev/null's minor number

bool is_same(const struct stat& status, const struct stat& other) {
    return S_ISREG(status.st_mode) && status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

/// A duplicate of the original's own descriptor: reading at a place moves nothing and opens nothing. When the original
/// has ended, the file itself, if it is still there. -1: it is not.
Fd open_again(pid_t process, const OpenFile& file) {
    struct stat status{};
    const Fd original(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (original) {
        Fd duplicate(static_cast<int>(::syscall(SYS_pidfd_getfd, original.get(), file.descriptor, 0)));
        if (duplicate && ::fstat(duplicate.get(), &status) == 0 && is_same(status, file.status)) return duplicate;
    }
    // What has come there in its place is not even opened.
    if (file.path.empty() || ::lstat(file.path.c_str(), &status) != 0 || !is_same(status, file.status)) return Fd();
    Fd opened(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (opened && ::fstat(opened.get(), &status) == 0 && is_same(status, file.status)) return opened;
    return Fd();
}

/// Whether it is read without anybody's taking notice, and without an end of waiting: a file or folder of a disk or of
/// memory, or one of the devices that are the same for everybody. What the kernel makes up as it is read may be the
/// reader's affair, or be used up by it; behind FUSE there is a program.
bool can_be_opened(int at) {
    struct stat status{};
    struct statfs system{};
    if (::fstat(at, &status) != 0 || ::fstatfs(at, &system) != 0) return false;
    if (S_ISCHR(status.st_mode)) return major(status.st_rdev) == memory_devices;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
    constexpr unsigned long fuse = 0x65735546, config = 0x62656570, efi_variables = 0xde5e81e4;
    constexpr unsigned long made_up[] = {PROC_SUPER_MAGIC,  SYSFS_MAGIC,    DEBUGFS_MAGIC,     TRACEFS_MAGIC,
                                         CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC,
                                         PSTOREFS_MAGIC,    DEVPTS_SUPER_MAGIC, fuse, config, efi_variables};
    return std::ranges::find(made_up, static_cast<unsigned long>(system.f_type)) == std::end(made_up);
}

/// Files of the kernel's that programs read of themselves and of the machine, and that are the same after that.
bool is_known_to_be_harmless(const std::string& path) {
    constexpr const char* files[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems",
                                     "/proc/self/maps", "/proc/self/status", "/proc/self/stat", "/proc/self/auxv",
                                     "/proc/self/cmdline", "/sys/devices/system/cpu/online",
                                     "/sys/devices/system/cpu/possible", "/proc/sys/vm/overcommit_memory"};
    return std::ranges::find(files, path) != std::end(files);
}

std::string text_at(const TracedProcess& copy, std::uint64_t address) {
    std::string text;
    constexpr std::size_t most = 4096, page = 4096;
    while (text.size() < most) {
        char part[256];
        const std::size_t up_to_page = page - address % page;
        const std::size_t got = copy.read(address, part, std::min(sizeof part, up_to_page));
        const auto end = std::find(part, part + got, '\0');
        text.append(part, end);
        if (got == 0 || end != part + got) break;
        address += got;
    }
    return text;
}

CallOutcome write_to(TracedProcess& copy, std::uint64_t address, const struct stat& status) {
    return CallOutcome::answered(copy.write(address, &status, sizeof status) ? 0 : -EFAULT);
}

/// Where a seek goes to, in what has one size and stands at one place.
std::optional<std::int64_t> sought(const CopiedCall& call, std::int64_t place, std::int64_t size) {
    const auto by = static_cast<std::int64_t>(call[1]);
    const std::int64_t from = call[2] == SEEK_CUR ? place : call[2] == SEEK_END ? size : 0;
    if (call[2] != SEEK_SET && call[2] != SEEK_CUR && call[2] != SEEK_END) return std::nullopt;
    return from + by;
}

/// What only a terminal answers (ioctl).
bool asks_a_terminal(std::uint64_t request) {
    return request == TCGETS || request == TIOCGPGRP || request == TIOCGWINSZ;
}

/// Those of a descriptor that ask what it is.
bool asks_for_status(const TracedProcess& copy, const CopiedCall& call) {
    return call.number == SYS_fstat ||
           (call.number == SYS_newfstatat && (call[3] & AT_EMPTY_PATH) && text_at(copy, call[1]).empty());
}

std::uint64_t status_goes_to(const CopiedCall& call) { return call.number == SYS_fstat ? call[1] : call[2]; }

/// Those that ask by a path, and change nothing. The index of the path; nothing: another call.
std::optional<std::size_t> path_that_is_asked_for(long number) {
    switch (number) {
#if defined(__x86_64__)
        case SYS_stat:
        case SYS_lstat:
        case SYS_access:
        case SYS_readlink:
#endif
        case SYS_statfs:
            return 0;
        case SYS_newfstatat:
        case SYS_statx:
        case SYS_faccessat:
        case SYS_faccessat2:
        case SYS_readlinkat:
            return 1;
        default:
            return std::nullopt;
    }
}

}  // namespace

CopyFiles::CopyFiles(const Snapshot& snapshot)
    : original_(snapshot.process), copied_(snapshot.copy()), numbers_(snapshot.descriptors.begin(), snapshot.descriptors.end()) {
    for (const int number : snapshot.descriptors) descriptors_[number] = {Kind::of_other, {number, {}, 0, 0, {}}, 0};
    for (const OpenFile& file : snapshot.files) {
        numbers_.insert(file.descriptor);
        descriptors_[file.descriptor] = {S_ISREG(file.status.st_mode) ? Kind::of_original : Kind::of_other, file, 0};
    }
}

std::optional<CallOutcome> CopyFiles::operator()(TracedProcess& copy, const CopiedCall& call) {
    switch (call.number) {
#if defined(__x86_64__)
        case SYS_open:
            return open(copy, AT_FDCWD, call[0], static_cast<int>(call[1]));
        case SYS_dup2:
#endif
        case SYS_dup:
        case SYS_dup3:
            return duplicate(copy, call);
        case SYS_openat:
            return open(copy, call.descriptor(), call[1], static_cast<int>(call[2]));
        case SYS_close:
            return close(call.descriptor());
        case SYS_eventfd2:
            return open_nothing(copy, Kind::of_other, 0, O_RDWR);
        case SYS_socket:
            return open_nothing(copy, Kind::of_other, S_IFSOCK, O_RDWR);
        case SYS_pipe2:
            return make_pipe(copy, call);
        case SYS_connect:
            return connect(copy, call);
        case SYS_mmap:
            return call[3] & MAP_ANONYMOUS ? std::nullopt : std::optional(map(call));
        default:
            break;
    }
    if (asks_for_status(copy, call)) return of_descriptor(copy, call);
    if (const auto path = path_that_is_asked_for(call.number)) {
        if (!reaches(copy, *path == 1 ? call.descriptor() : AT_FDCWD, call[*path]))
            return CallOutcome::ended(EndedBy::files);
        return CallOutcome::carried_out();
    }
    return of_descriptor(copy, call);
}

std::optional<CallOutcome> CopyFiles::of_descriptor(TracedProcess& copy, const CopiedCall& call) {
    const auto found = descriptors_.find(call.descriptor());
    if (found == descriptors_.end())
        return call.number == SYS_fcntl ? std::optional(CallOutcome::answered(-EBADF)) : std::nullopt;
    Descriptor& descriptor = found->second;
    if (call.number == SYS_fcntl && call[1] == F_DUPFD_CLOEXEC) return duplicate(copy, call);
    if (call.number == SYS_fcntl && (call[1] == F_SETFD || call[1] == F_GETFD))
        return descriptor.kind == Kind::opened ? CallOutcome::carried_out() : CallOutcome::answered(0);
    if (call.number == SYS_fcntl && call[1] == F_SETFL && descriptor.kind != Kind::opened) {
        descriptor.file.flags = (descriptor.file.flags & O_ACCMODE) | static_cast<unsigned>(call[2]);
        return CallOutcome::answered(0);
    }
    switch (descriptor.kind) {
        case Kind::opened:
            return of_opened(call);
        case Kind::of_original:
            return of_original(copy, call, descriptor.file);
        case Kind::written:
            return of_written(copy, call, descriptor);
        case Kind::of_other:
            break;
    }
    return of_other(copy, call, descriptor.file);
}

std::optional<CallOutcome> CopyFiles::of_opened(const CopiedCall& call) {
    switch (call.number) {
        case SYS_read:
        case SYS_pread64:
        case SYS_readv:
        case SYS_preadv:
        case SYS_lseek:
        case SYS_fstat:
        case SYS_newfstatat:
        case SYS_fstatfs:
        case SYS_getdents64:
            return CallOutcome::carried_out();
        case SYS_fcntl:
            if (call[1] == F_GETFL) return CallOutcome::carried_out();
            break;
        case SYS_ioctl:
            if (asks_a_terminal(call[1])) return CallOutcome::answered(-ENOTTY);
            break;
        default:
            break;
    }
    return std::nullopt;
}

CallOutcome CopyFiles::read(TracedProcess& copy, const CopiedCall& call, OpenFile& file) const {
    constexpr std::uint64_t most = 1 << 20;
    const auto cannot = CallOutcome::ended(EndedBy::reads);
    if (call[2] > most) return cannot;
    const Fd descriptor = open_again(original_, file);
    if (!descriptor) return cannot;
    std::vector<char> bytes(call[2]);
    const bool at_offset = call.number == SYS_pread64;
    const auto offset = at_offset ? static_cast<off_t>(call[3]) : static_cast<off_t>(file.offset);
    const ssize_t got = ::pread(descriptor.get(), bytes.data(), bytes.size(), offset);
    if (got < 0 || (got > 0 && !copy.write(call[1], bytes.data(), static_cast<std::size_t>(got)))) return cannot;
    if (!at_offset) file.offset += got;
    return CallOutcome::answered(got);
}

std::optional<CallOutcome> CopyFiles::of_original(TracedProcess& copy, const CopiedCall& call, OpenFile& file) const {
    switch (call.number) {
        case SYS_read:
        case SYS_pread64:
            return read(copy, call, file);
        case SYS_fstat:
        case SYS_newfstatat:
        case SYS_lseek: {
            const Fd again = open_again(original_, file);
            struct stat status{};
            if (!again || ::fstat(again.get(), &status) != 0) return CallOutcome::ended(EndedBy::files);
            if (call.number != SYS_lseek) return write_to(copy, status_goes_to(call), status);
            const auto place = sought(call, file.offset, status.st_size);
            if (!place) return CallOutcome::ended(EndedBy::files);
            if (*place < 0) return CallOutcome::answered(-EINVAL);
            return CallOutcome::answered(file.offset = *place);
        }
        case SYS_fcntl:
            if (call[1] == F_GETFL) return CallOutcome::answered(static_cast<std::int64_t>(file.flags));
            break;
        case SYS_ioctl:
            if (asks_a_terminal(call[1])) return CallOutcome::answered(-ENOTTY);
            break;
        default:
            break;
    }
    return std::nullopt;
}

std::optional<CallOutcome> CopyFiles::of_written(TracedProcess& copy, const CopiedCall& call, Descriptor& file) const {
    std::int64_t& place = file.file.offset;
    switch (call.number) {
        case SYS_pwrite64:
            file.size = std::max(file.size, static_cast<std::int64_t>(call[3] + call[2]));
            return CallOutcome::answered(static_cast<std::int64_t>(call[2]));
        case SYS_lseek: {
            const auto to = sought(call, place, file.size);
            if (!to || *to < 0) return CallOutcome::ended(EndedBy::files);
            return CallOutcome::answered(place = *to);
        }
        case SYS_ftruncate:
            file.size = static_cast<std::int64_t>(call[1]);
            return CallOutcome::answered(0);
        case SYS_fchmod:
        case SYS_fchown:
            return CallOutcome::answered(0);
        case SYS_fstat:
        case SYS_newfstatat: {
            constexpr blksize_t usual = 4096;
            struct stat status = file.file.status;
            status.st_nlink = 1;
            status.st_ino = static_cast<ino_t>(call.descriptor());
            status.st_size = file.size;
            status.st_blksize = usual;
            return write_to(copy, status_goes_to(call), status);
        }
        case SYS_fcntl:
            if (call[1] == F_GETFL) return CallOutcome::answered(file.file.flags);
            break;
        case SYS_ioctl:
            if (asks_a_terminal(call[1])) return CallOutcome::answered(-ENOTTY);
            break;
        default:
            break;
    }
    return std::nullopt;
}

std::optional<CallOutcome> CopyFiles::of_other(TracedProcess& copy, const CopiedCall& call, const OpenFile& file) const {
    const mode_t mode = file.status.st_mode;
    if (mode == 0) return std::nullopt;
    const bool of_memory = S_ISCHR(mode) && major(file.status.st_rdev) == memory_devices;
    switch (call.number) {
        case SYS_fstat:
        case SYS_newfstatat:
            return write_to(copy, status_goes_to(call), file.status);
        case SYS_lseek:
            return CallOutcome::answered(of_memory ? 0 : -ESPIPE);
        case SYS_read:
            if (of_memory && minor(file.status.st_rdev) == null_device) return CallOutcome::answered(0);
            break;
        case SYS_fcntl:
            if (call[1] == F_GETFL) return CallOutcome::answered(file.flags);
            break;
        case SYS_ioctl:
            if (asks_a_terminal(call[1]) && (of_memory || S_ISFIFO(mode) || S_ISSOCK(mode)))
                return CallOutcome::answered(-ENOTTY);
            break;
        default:
            break;
    }
    return std::nullopt;
}

void CopyFiles::wrote(int descriptor, std::int64_t bytes) {
    const auto found = descriptors_.find(descriptor);
    if (found == descriptors_.end() || (found->second.file.flags & O_APPEND)) return;
    OpenFile& file = found->second.file;
    file.offset += bytes;
    found->second.size = std::max(found->second.size, file.offset);
}

CallOutcome CopyFiles::map(const CopiedCall& call) const {
    const auto found = descriptors_.find(static_cast<int>(call[4]));
    const bool own = found != descriptors_.end() && found->second.kind == Kind::opened;
    const bool changes_nothing = (call[3] & MAP_TYPE) == MAP_PRIVATE || !(call[2] & PROT_WRITE);
    return own && changes_nothing ? CallOutcome::carried_out() : CallOutcome::ended(EndedBy::files);
}

/// Whether the copy itself finds there what the original would: by a whole path, or from a folder that it has.
bool CopyFiles::reaches(TracedProcess& copy, int folder, std::uint64_t path) const {
    char first = 0;
    if (folder == AT_FDCWD || (copy.read(path, &first, 1) == 1 && first == '/')) return true;
    const auto found = descriptors_.find(folder);
    return found != descriptors_.end() && found->second.kind == Kind::opened;
}

/// Has the copy hold something under each number that the original has in use, so that what it opens gets the next one.
bool CopyFiles::keep_numbers(TracedProcess& copy) {
    constexpr std::size_t most = 64;
    if (numbers_kept_) return true;
    if (numbers_.size() > most) return false;
    const auto made = inject_system_call(copy, SYS_eventfd2, {0, 0, 0, 0, 0, 0});
    const auto first = made ? static_cast<std::int64_t>(*made) : -1;
    if (first < 0) return false;
    for (const int number : numbers_) {
        if (number == first) continue;
        const auto put =
            inject_system_call(copy, SYS_dup3, {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(number)});
        if (!put || static_cast<std::int64_t>(*put) != number) return false;
    }
    if (!numbers_.contains(static_cast<int>(first)) &&
        !inject_system_call(copy, SYS_close, {static_cast<std::uint64_t>(first)}))
        return false;
    return numbers_kept_ = true;
}

/// First as a mere place, which nobody takes notice of; when that is something harmless, to be read.
CallOutcome CopyFiles::open(TracedProcess& copy, int folder, std::uint64_t path, int flags) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    constexpr int writes = O_TRUNC | O_APPEND | O_CREAT;
    constexpr mode_t plain = 0644;
    if (!reaches(copy, folder, path)) return cannot;
    if (!keep_numbers(copy)) return cannot;
    if ((flags & O_ACCMODE) == O_WRONLY && (flags & O_CREAT)) return open_nothing(copy, Kind::written, S_IFREG | plain, static_cast<unsigned>(flags));
    const auto opened = [&](int with) -> std::optional<std::int64_t> {
        const auto got = inject_system_call(
            copy, SYS_openat,
            {static_cast<std::uint64_t>(static_cast<std::int64_t>(folder)), path, static_cast<std::uint64_t>(with)});
        if (!got) return std::nullopt;
        return static_cast<std::int64_t>(*got);
    };
    const auto place = opened(O_PATH | O_CLOEXEC | (flags & (O_DIRECTORY | O_NOFOLLOW)));
    if (!place) return cannot;
    if (*place < 0) return flags & O_CREAT ? cannot : CallOutcome::answered(*place);
    bool harmless = is_known_to_be_harmless(text_at(copy, path));
    bool is_device = false;
    {
        const Fd here(::open(("/proc/" + std::to_string(copied_) + "/fd/" + std::to_string(*place)).c_str(),
                             O_PATH | O_CLOEXEC));
        struct stat status{};
        harmless = here && (harmless || can_be_opened(here.get()));
        is_device = here && ::fstat(here.get(), &status) == 0 && S_ISCHR(status.st_mode);
    }
    if (!inject_system_call(copy, SYS_close, {static_cast<std::uint64_t>(*place)})) return cannot;
    const bool reads_only = (flags & O_ACCMODE) == O_RDONLY && !(flags & writes) && !(flags & O_PATH);
    if (!harmless || !(reads_only || is_device)) return cannot;
    const auto got = opened(flags | O_NONBLOCK | O_NOCTTY);
    if (!got) return cannot;
    if (*got >= 0) {
        numbers_.insert(static_cast<int>(*got));
        descriptors_[static_cast<int>(*got)] = {Kind::opened, {}, 0};
    }
    return CallOutcome::answered(*got);
}

/// A number for what is not there: a file that nothing is written to, a pipe or socket without another end.
CallOutcome CopyFiles::open_nothing(TracedProcess& copy, Kind kind, mode_t mode, unsigned flags) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    if (!keep_numbers(copy)) return cannot;
    const auto number = inject_system_call(copy, SYS_eventfd2, {0, 0});
    if (!number || static_cast<std::int64_t>(*number) < 0) return cannot;
    const int got = static_cast<int>(*number);
    Descriptor made{kind, {got, {}, 0, flags, {}}, 0};
    made.file.status.st_mode = mode;
    numbers_.insert(got);
    descriptors_[got] = std::move(made);
    return CallOutcome::answered(got);
}

CallOutcome CopyFiles::make_pipe(TracedProcess& copy, const CopiedCall& call) {
    std::array<int, 2> ends{};
    for (int& end : ends) {
        const auto flags = static_cast<unsigned>(call[1]) | (&end == ends.data() ? O_RDONLY : O_WRONLY);
        const auto made = open_nothing(copy, Kind::of_other, S_IFIFO, flags);
        if (made.what != CallOutcome::What::answered) return made;
        end = static_cast<int>(made.value);
    }
    return CallOutcome::answered(copy.write(call[0], ends.data(), sizeof ends) ? 0 : -EFAULT);
}

/// Only what nobody listens at is known (a cache of names that does not run is asked by many a program).
CallOutcome CopyFiles::connect(TracedProcess& copy, const CopiedCall& call) const {
    sockaddr_un address{};
    const std::size_t bytes = std::min<std::size_t>(call[2], sizeof address);
    if (copy.read(call[1], &address, bytes) == bytes && address.sun_family == AF_UNIX && address.sun_path[0] == '/' &&
        std::find(std::begin(address.sun_path), std::end(address.sun_path), '\0') != std::end(address.sun_path)) {
        const auto there =
            inject_system_call(copy, SYS_faccessat,
                               {static_cast<std::uint64_t>(std::int64_t{AT_FDCWD}),
                                call[1] + offsetof(sockaddr_un, sun_path), F_OK});
        if (there && static_cast<std::int64_t>(*there) == -ENOENT) return CallOutcome::answered(-ENOENT);
    }
    return CallOutcome::ended(EndedBy::files);
}

CallOutcome CopyFiles::close(int descriptor) {
    if (descriptors_.erase(descriptor) == 0) return CallOutcome::answered(-EBADF);
    numbers_.erase(descriptor);
    return numbers_kept_ ? CallOutcome::carried_out() : CallOutcome::answered(0);
}

/// Of what has no place to stand at, or has it in the copy itself.
CallOutcome CopyFiles::duplicate(TracedProcess& copy, const CopiedCall& call) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    const auto found = descriptors_.find(call.descriptor());
    if (found == descriptors_.end() || (found->second.kind != Kind::opened && found->second.kind != Kind::of_other))
        return cannot;
    if (!keep_numbers(copy)) return cannot;
    const Descriptor of = found->second;
    const auto number = inject_system_call(copy, static_cast<std::uint64_t>(call.number), call.arguments);
    if (!number) return cannot;
    const auto got = static_cast<std::int64_t>(*number);
    if (got >= 0) {
        numbers_.insert(static_cast<int>(got));
        descriptors_[static_cast<int>(got)] = of;
    }
    return CallOutcome::answered(got);
}

}  // namespace tmaprobe::trace
