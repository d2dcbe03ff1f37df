#include "trace/copy_files.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/fd.h"
#include "trace/harmless_files.h"
#include "trace/injected_call.h"

namespace tmaprobe::trace {
namespace {

bool starts_with(const TracedProcess& copy, std::uint64_t text, char first) {
    char found = 0;
    return copy.read(text, &found, 1) == 1 && found == first;
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
           (call.number == SYS_newfstatat && (call[3] & AT_EMPTY_PATH) && starts_with(copy, call[1], '\0'));
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

CopyFiles::CopyFiles(const Snapshot& snapshot) : original_(snapshot.process), copied_(snapshot.copy()) {
    for (const int number : snapshot.descriptors) descriptors_[number] = {Kind::of_other, {number, {}, 0, 0, {}}, 0};
    for (const OpenFile& file : snapshot.files)
        descriptors_[file.descriptor] = {S_ISREG(file.status.st_mode) ? Kind::of_original : Kind::of_other, file, 0};
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
    if (call.number == SYS_fcntl) return flags_of(copy, call, descriptor);
    if (call.number == SYS_ioctl)
        return asks_a_terminal(call[1]) && is_no_terminal(descriptor) ? std::optional(CallOutcome::answered(-ENOTTY))
                                                                      : std::nullopt;
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
    return is_unknown(descriptor) ? std::nullopt : of_other(copy, call, descriptor.file);
}

std::optional<CallOutcome> CopyFiles::flags_of(TracedProcess& copy, const CopiedCall& call, Descriptor& descriptor) {
    const bool opened = descriptor.kind == Kind::opened;
    unsigned& flags = descriptor.file.flags;
    switch (call[1]) {
        case F_DUPFD_CLOEXEC:
            return duplicate(copy, call);
        case F_GETFD:
        case F_SETFD:
            return opened ? CallOutcome::carried_out() : CallOutcome::answered(0);
        case F_GETFL:
            if (opened) return CallOutcome::carried_out();
            if (is_unknown(descriptor)) break;
            return CallOutcome::answered(flags);
        case F_SETFL:
            if (opened) break;
            flags = (flags & O_ACCMODE) | static_cast<unsigned>(call[2]);
            return CallOutcome::answered(0);
        default:
            break;
    }
    return std::nullopt;
}

/// Not even what it is.
bool CopyFiles::is_unknown(const Descriptor& descriptor) {
    return descriptor.kind == Kind::of_other && descriptor.file.status.st_mode == 0;
}

bool CopyFiles::is_no_terminal(const Descriptor& descriptor) {
    const struct stat& status = descriptor.file.status;
    return descriptor.kind != Kind::of_other || is_plain_device(status) || S_ISFIFO(status.st_mode) ||
           S_ISSOCK(status.st_mode);
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
        default:
            break;
    }
    return std::nullopt;
}

std::optional<CallOutcome> CopyFiles::of_other(TracedProcess& copy, const CopiedCall& call,
                                               const OpenFile& file) const {
    switch (call.number) {
        case SYS_fstat:
        case SYS_newfstatat:
            return write_to(copy, status_goes_to(call), file.status);
        case SYS_lseek:
            return CallOutcome::answered(is_plain_device(file.status) ? 0 : -ESPIPE);
        case SYS_read:
            if (is_null_device(file.status)) return CallOutcome::answered(0);
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

}  // namespace tmaprobe::trace
