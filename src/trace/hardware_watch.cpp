#include "trace/hardware_watch.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <cerrno>
#include <cstddef>

namespace tmaprobe::trace {

#if !defined(__x86_64__)

bool HardwareWatch::set(const std::vector<Point>&) { return false; }
void HardwareWatch::clear() {}
std::optional<std::size_t> HardwareWatch::met() { return std::nullopt; }

#else

namespace {

constexpr std::size_t status = 6, control = 7;

bool write_register(pid_t copy, std::size_t number, std::uint64_t value) {
    return ::ptrace(PTRACE_POKEUSER, copy, offsetof(struct user, u_debugreg) + number * sizeof(std::uint64_t), value) ==
           0;
}

}  // namespace

bool HardwareWatch::set(const std::vector<Point>& points) {
    clear();
    std::uint64_t enabled = 0;
    for (std::size_t i = 0; i < points.size() && i < most; ++i) {
        constexpr std::uint64_t store = 0b01, eight_bytes = 0b10, one_byte = 0b00, execution = 0b00;
        const std::uint64_t kind = points[i].executes ? execution | one_byte << 2 : store | eight_bytes << 2;
        if (!write_register(copy_, i, points[i].address)) return false;
        enabled |= std::uint64_t{1} << 2 * i | kind << (16 + 4 * i);
        count_ = i + 1;
    }
    if (count_ == 0 || write_register(copy_, control, enabled)) return count_ > 0;
    count_ = 0;
    return false;
}

void HardwareWatch::clear() {
    if (count_) write_register(copy_, control, 0);
    count_ = 0;
}

std::optional<std::size_t> HardwareWatch::met() {
    errno = 0;
    const long hit =
        ::ptrace(PTRACE_PEEKUSER, copy_, offsetof(struct user, u_debugreg) + status * sizeof(std::uint64_t), nullptr);
    if (errno != 0) return std::nullopt;
    write_register(copy_, status, 0);
    for (std::size_t i = 0; i < count_; ++i)
        if (static_cast<std::uint64_t>(hit) >> i & 1) return i;
    return std::nullopt;
}

#endif

}  // namespace tmaprobe::trace
