#include "fake_kernel.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace {
tmaprobe::test::FakeKernel* the_kernel = nullptr;  // link-time replacements have no other way to find it
}

extern "C" {
long __real_syscall(long number, ...);
ssize_t __real_read(int descriptor, void* to, size_t bytes);
int __real_ioctl(int descriptor, unsigned long request, ...);
void* __real_mmap(void* at, size_t length, int protection, int flags, int descriptor, off_t offset);
pid_t __real_fork();
int __real_pipe2(int* descriptors, int flags);
int __real_socketpair(int domain, int type, int protocol, int* descriptors);
int __real_close(int descriptor);
int __real_signalfd(int descriptor, const void* mask, int flags);

long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& argument : a) argument = va_arg(list, long);
    va_end(list);
    if (the_kernel && number == SYS_perf_event_open)
        return the_kernel->open_event(reinterpret_cast<const void*>(a[0]), static_cast<int>(a[3]));
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t __wrap_read(int descriptor, void* to, size_t bytes) {
    if (the_kernel && the_kernel->is_counter(descriptor)) return the_kernel->read_counter(descriptor, to, bytes);
    return __real_read(descriptor, to, bytes);
}

int __wrap_ioctl(int descriptor, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void* argument = va_arg(list, void*);
    va_end(list);
    if (!the_kernel || !the_kernel->is_counter(descriptor)) return __real_ioctl(descriptor, request, argument);
    if (const auto error = the_kernel->failure_of("ioctl")) {
        errno = *error;
        return -1;
    }
    return 0;
}

void* __wrap_mmap(void* at, size_t length, int protection, int flags, int descriptor, off_t offset) {
    if (!the_kernel || !the_kernel->is_counter(descriptor))
        return __real_mmap(at, length, protection, flags, descriptor, offset);
    if (const auto error = the_kernel->failure_of("mmap")) {
        errno = *error;
        return MAP_FAILED;
    }
    // A page on which nothing is allowed: zeroes.
    return __real_mmap(at, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int __wrap_close(int descriptor) {
    if (the_kernel) the_kernel->forget(descriptor);
    return __real_close(descriptor);
}

int __wrap_socketpair(int domain, int type, int protocol, int* descriptors) {
    if (the_kernel)
        if (const auto error = the_kernel->failure_of("socketpair")) {
            errno = *error;
            return -1;
        }
    return __real_socketpair(domain, type, protocol, descriptors);
}

pid_t __wrap_fork() {
    if (the_kernel)
        if (const auto error = the_kernel->failure_of("fork")) {
            errno = *error;
            return -1;
        }
    return __real_fork();
}

int __wrap_pipe2(int* descriptors, int flags) {
    if (the_kernel)
        if (const auto error = the_kernel->failure_of("pipe2")) {
            errno = *error;
            return -1;
        }
    return __real_pipe2(descriptors, flags);
}

int __wrap_signalfd(int descriptor, const void* mask, int flags) {
    if (the_kernel)
        if (const auto error = the_kernel->failure_of("signalfd")) {
            errno = *error;
            return -1;
        }
    return __real_signalfd(descriptor, mask, flags);
}
}  // extern "C"

namespace tmaprobe::test {

FakeKernel::FakeKernel() { the_kernel = this; }
FakeKernel::~FakeKernel() { the_kernel = nullptr; }

void FakeKernel::fail(const std::string& call, int nth, int error) { failures[call][nth] = error; }

int FakeKernel::calls(const std::string& call) const {
    const auto found = made.find(call);
    return found == made.end() ? 0 : found->second;
}

std::optional<int> FakeKernel::failure_of(const std::string& call) {
    const int number = made[call]++;
    const auto planned = failures.find(call);
    if (planned == failures.end()) return std::nullopt;
    const auto error = planned->second.find(number);
    if (error == planned->second.end()) return std::nullopt;
    return error->second;
}

long FakeKernel::open_event(const void* attributes, int group) {
    const auto refuse = [](int error) {
        errno = error;
        return -1L;
    };
    if (const auto error = failure_of("open")) return refuse(*error);
    const std::uint64_t config = static_cast<const perf_event_attr*>(attributes)->config;
    if (const auto failing = failing_configs.find(config); failing != failing_configs.end())
        return refuse(failing->second);
    if (lends_counters && !static_cast<const perf_event_attr*>(attributes)->exclude_guest) return refuse(EOPNOTSUPP);
    const auto leader = counters.find(group);
    if (leader != counters.end() && leader->second.members >= largest_group) return refuse(EINVAL);
    // Named so that /proc/self/fd shows it as the kernel shows a counter.
    const int descriptor = static_cast<int>(__real_syscall(SYS_memfd_create, "[perf_event]", 0UL, 0UL, 0UL, 0UL, 0UL));
    if (descriptor < 0) return -1;
    counters[descriptor] = {config, 0, group, 1, {}};
    if (leader != counters.end()) ++leader->second.members;
    return descriptor;
}

bool FakeKernel::is_counter(int descriptor) const { return descriptor >= 0 && counters.contains(descriptor); }

long FakeKernel::read_counter(int descriptor, void* to, unsigned long bytes) {
    Counter& counter = counters[descriptor];
    if (counter.pending.empty()) {
        if (const auto error = failure_of("read")) {
            errno = *error;
            return -1;
        }
        static const std::vector<FakeCount> quiet = {{0, 1000, 1000, 0, 24}};
        const auto found = scripts.find(counter.config);
        const auto& script = found == scripts.end() ? quiet : found->second;
        const FakeCount& count = script[std::min(counter.reads++, script.size() - 1)];
        if (count.error) {
            errno = count.error;
            return -1;
        }
        const std::uint64_t record[3] = {count.value, count.enabled, count.running};
        const auto* raw = reinterpret_cast<const unsigned char*>(record);
        counter.pending.assign(raw, raw + sizeof record);
        if (count.bytes == 0) {
            counter.pending.clear();
            return 0;
        }
        bytes = std::min<unsigned long>(bytes, static_cast<unsigned long>(count.bytes));
    }
    const auto given = std::min<std::size_t>(bytes, counter.pending.size());
    std::memcpy(to, counter.pending.data(), given);
    counter.pending.erase(counter.pending.begin(), counter.pending.begin() + static_cast<std::ptrdiff_t>(given));
    return static_cast<long>(given);
}

}  // namespace tmaprobe::test
