#include "trace/touched_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trace/read_memory.h"
#include "trace/touched_runs.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t most_copied = std::uint64_t{64} << 20;

Fd open_of(pid_t process, const char* file, int flags) {
    return Fd(::open(("/proc/" + std::to_string(process) + "/" + file).c_str(), flags | O_CLOEXEC));
}

}  // namespace

TouchedMemory::TouchedMemory(pid_t original, pid_t copy, RemoteCalls& calls)
    : original_(original),
      calls_(calls),
      memory_(open_of(copy, "mem", O_RDWR)),
      touched_(open_of(original, "pagemap", O_RDONLY)),
      room_(most_copied) {}

bool TouchedMemory::map(std::uint64_t begin, std::uint64_t end, int protection, int fixed) {
    const auto flags = static_cast<std::uint64_t>(fixed | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    const auto mapped = calls_.call(
        SYS_mmap, {begin, end - begin, static_cast<std::uint64_t>(protection), flags, ~std::uint64_t{0}, 0});
    return mapped.value && static_cast<std::uint64_t>(*mapped.value) == begin;
}

bool TouchedMemory::bring_in(std::uint64_t begin, std::uint64_t end, int protection, bool replaces) {
    // Also where nothing is brought in: something else would be put there, and be taken for what is missing.
    if (!map(begin, end, PROT_NONE, replaces ? MAP_FIXED : MAP_FIXED_NOREPLACE)) return false;
    for (const TouchedRun& run : touched_runs(touched_.get(), begin, end)) {
        const std::uint64_t bytes = run.end - run.begin;
        if (bytes > room_) break;
        room_ -= bytes;
        std::vector<std::uint8_t> contents(bytes);
        if (read_memory(original_, run.begin, contents.data(), bytes) != bytes) continue;
        if (!map(run.begin, run.end, protection, MAP_FIXED)) continue;
        if (::pwrite(memory_.get(), contents.data(), bytes, static_cast<off_t>(run.begin)) !=
            static_cast<ssize_t>(bytes))
            map(run.begin, run.end, PROT_NONE, MAP_FIXED);
    }
    return true;
}

}  // namespace tmaprobe::trace
