#include "trace/call_kinds.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace tmaprobe::trace {

bool touches_only_itself(long number) {
    switch (number) {
        case SYS_brk:
        case SYS_munmap:
        case SYS_mincore:
        case SYS_clock_gettime:
        case SYS_clock_getres:
        case SYS_gettimeofday:
        case SYS_times:
        case SYS_getrusage:
        case SYS_sysinfo:
        case SYS_uname:
        case SYS_getrandom:
        case SYS_getuid:
        case SYS_geteuid:
        case SYS_getgid:
        case SYS_getegid:
        case SYS_getgroups:
        case SYS_getresuid:
        case SYS_getresgid:
        case SYS_umask:
        case SYS_getrlimit:
        case SYS_getcwd:
        case SYS_getcpu:
        case SYS_rt_sigprocmask:
        case SYS_rt_sigaction:
        case SYS_rt_sigpending:
        case SYS_rt_sigreturn:
        case SYS_sigaltstack:
        case SYS_sched_getaffinity:
        case SYS_sched_getscheduler:
        case SYS_sched_getparam:
        case SYS_membarrier:
#if defined(__x86_64__)
        case SYS_time:
        case SYS_arch_prctl:
#endif
            return true;
        default:
            return false;
    }
}

bool goes_well(long number) {
    switch (number) {
        case SYS_mlock:
        case SYS_munlock:
        case SYS_msync:
        case SYS_fsync:
        case SYS_fdatasync:
        case SYS_set_robust_list:
        case SYS_rseq:
        case SYS_sched_setaffinity:
        case SYS_fadvise64:
        case SYS_timer_settime:  // what it would send, the copy does not get
        case SYS_timer_delete:
            return true;
        default:
            return false;
    }
}

bool starts_or_waits_for_processes(long number) {
    switch (number) {
        case SYS_clone:
        case SYS_clone3:
        case SYS_execve:
        case SYS_execveat:
        case SYS_wait4:
        case SYS_waitid:
#if defined(__x86_64__)
        case SYS_fork:
        case SYS_vfork:
#endif
            return true;
        default:
            return false;
    }
}

bool waits(long number) {
    switch (number) {
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
        case SYS_ppoll:
        case SYS_pselect6:
        case SYS_epoll_pwait:
        case SYS_rt_sigtimedwait:
        case SYS_rt_sigsuspend:
        case SYS_semtimedop:
        case SYS_restart_syscall:
#if defined(__x86_64__)
        case SYS_poll:
        case SYS_select:
        case SYS_epoll_wait:
        case SYS_pause:
#endif
            return true;
        default:
            return false;
    }
}

bool receives(long number) {
    switch (number) {
        case SYS_read:
        case SYS_readv:
        case SYS_pread64:
        case SYS_preadv:
        case SYS_recvfrom:
        case SYS_recvmsg:
        case SYS_recvmmsg:
        case SYS_accept:
        case SYS_accept4:
        case SYS_getdents64:
            return true;
        default:
            return false;
    }
}

bool sends_signals(long number) {
    return number == SYS_kill || number == SYS_tgkill || number == SYS_tkill || number == SYS_rt_sigqueueinfo ||
           number == SYS_rt_tgsigqueueinfo;
}

bool changes_files(long number) {
    switch (number) {
        case SYS_openat:
        case SYS_close:
        case SYS_dup:
        case SYS_dup3:
        case SYS_fcntl:
        case SYS_ioctl:
        case SYS_fstat:
        case SYS_statx:
        case SYS_newfstatat:
        case SYS_faccessat:
        case SYS_readlinkat:
        case SYS_ftruncate:
        case SYS_fallocate:
        case SYS_flock:
        case SYS_unlinkat:
        case SYS_renameat2:
        case SYS_mkdirat:
        case SYS_lseek:
        case SYS_pipe2:
        case SYS_socket:
        case SYS_connect:
        case SYS_sendfile:
#if defined(__x86_64__)
        case SYS_open:
        case SYS_stat:
        case SYS_lstat:
        case SYS_access:
        case SYS_readlink:
        case SYS_unlink:
        case SYS_rename:
        case SYS_mkdir:
        case SYS_dup2:
        case SYS_pipe:
#endif
            return true;
        default:
            return false;
    }
}

bool is_of_itself(std::uint64_t operation) {
    constexpr std::uint64_t name_memory = 0x53564d41;  // PR_SET_VMA
    return operation == PR_SET_NAME || operation == PR_GET_NAME || operation == name_memory ||
           operation == PR_SET_THP_DISABLE || operation == PR_GET_DUMPABLE;
}

bool is_harmless_advice(std::uint64_t advice) {
    switch (advice) {
        case MADV_NORMAL:
        case MADV_RANDOM:
        case MADV_SEQUENTIAL:
        case MADV_WILLNEED:
        case MADV_DONTNEED:
        case MADV_FREE:
        case MADV_HUGEPAGE:
        case MADV_NOHUGEPAGE:
        case MADV_DONTDUMP:
        case MADV_DODUMP:
            return true;
        default:
            return false;
    }
}

}  // namespace tmaprobe::trace
