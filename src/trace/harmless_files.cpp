#include "trace/harmless_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace tmaprobe::trace {
namespace {

bool is_same(const struct stat& status, const struct stat& other) {
    return S_ISREG(status.st_mode) && status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

/// Of one of the memory devices; others among them are the machine's memory, its ports and the kernel's messages.
unsigned number_of(const struct stat& status) {
    constexpr unsigned memory_devices = 1;
    return S_ISCHR(status.st_mode) && major(status.st_rdev) == memory_devices ? minor(status.st_rdev) : 0;
}

constexpr unsigned null_device = 3;

}  // namespace

bool is_null_device(const struct stat& status) { return number_of(status) == null_device; }

bool is_plain_device(const struct stat& status) {
    constexpr unsigned plain[] = {null_device, 5 /* zero */, 7 /* full */, 8 /* random */, 9 /* urandom */};
    return std::ranges::find(plain, number_of(status)) != std::end(plain);
}

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

bool can_be_opened(int at) {
    struct stat status{};
    struct statfs system{};
    if (::fstat(at, &status) != 0 || ::fstatfs(at, &system) != 0) return false;
    if (is_plain_device(status)) return true;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
    constexpr unsigned long fuse = 0x65735546, config = 0x62656570, efi_variables = 0xde5e81e4;
    constexpr unsigned long made_up[] = {PROC_SUPER_MAGIC,
                                         SYSFS_MAGIC,
                                         DEBUGFS_MAGIC,
                                         TRACEFS_MAGIC,
                                         CGROUP_SUPER_MAGIC,
                                         CGROUP2_SUPER_MAGIC,
                                         SECURITYFS_MAGIC,
                                         BPF_FS_MAGIC,
                                         PSTOREFS_MAGIC,
                                         DEVPTS_SUPER_MAGIC,
                                         fuse,
                                         config,
                                         efi_variables};
    return std::ranges::find(made_up, static_cast<unsigned long>(system.f_type)) == std::end(made_up);
}

bool is_known_to_be_harmless(const std::string& path) {
    constexpr const char* files[] = {"/proc/cpuinfo",
                                     "/proc/meminfo",
                                     "/proc/stat",
                                     "/proc/filesystems",
                                     "/proc/self/maps",
                                     "/proc/self/status",
                                     "/proc/self/stat",
                                     "/proc/self/auxv",
                                     "/proc/self/cmdline",
                                     "/sys/devices/system/cpu/online",
                                     "/sys/devices/system/cpu/possible",
                                     "/proc/sys/vm/overcommit_memory"};
    return std::ranges::find(files, path) != std::end(files);
}

}  // namespace tmaprobe::trace
