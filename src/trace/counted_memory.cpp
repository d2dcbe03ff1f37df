#include "trace/counted_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t most_brought_in = std::uint64_t{64} << 20;  ///< for one copy

struct Run {
    std::uint64_t begin = 0, end = 0;
};

/// Pages that the process has in its page tables, or had and were swapped out; one after the other make one run.
std::vector<Run> touched_pages(pid_t process, const CountedMapping& mapping) {
    const Fd entries(::open(("/proc/" + std::to_string(process) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    const std::uint64_t bytes = std::min(mapping.end - mapping.begin, most_brought_in);
    std::vector<std::uint64_t> pages(bytes / page);
    const std::size_t wanted = pages.size() * sizeof pages[0];
    const auto at = static_cast<off_t>(mapping.begin / page * sizeof pages[0]);
    if (!entries || ::pread(entries.get(), pages.data(), wanted, at) != static_cast<ssize_t>(wanted)) return {};
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
    std::vector<Run> runs;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (!(pages[i] & present_or_swapped)) continue;
        const std::uint64_t begin = mapping.begin + i * page;
        if (!runs.empty() && runs.back().end == begin)
            runs.back().end += page;
        else
            runs.push_back({begin, begin + page});
    }
    return runs;
}

bool read_memory(pid_t process, std::uint64_t at, std::vector<std::uint8_t>& to) {
    const iovec local{to.data(), to.size()}, remote{reinterpret_cast<void*>(at), to.size()};
    return ::process_vm_readv(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(to.size());
}

}  // namespace

std::vector<CountedMapping> counted_mappings(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process);
    const auto is_counted = [](const std::string& text) {
        return text.find("/SYSV") != std::string::npos || text.find("/memfd:") != std::string::npos;
    };
    const auto maps = read_file(folder + "/maps");
    if (!maps || !is_counted(*maps)) return {};
    // This file costs the kernel a walk through all page tables: most processes have no such memory.
    const auto text = read_file(folder + "/smaps");
    std::vector<CountedMapping> mappings;
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    bool counted = false;
    while (std::getline(lines, line)) {
        unsigned long long begin = 0, end = 0;
        char permissions[5] = {};
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, permissions) == 3) {
            counted = permissions[3] == 's' && is_counted(line);
            if (!counted) continue;
            const int protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                                   (permissions[2] == 'x' ? PROT_EXEC : 0);
            mappings.push_back({begin, end, protection, true});
        } else if (counted && line.starts_with("VmFlags:")) {
            mappings.back().forked = (line + " ").find(" dc ") == std::string::npos;
        }
    }
    return mappings;
}

void bring_in(const std::vector<CountedMapping>& mappings, pid_t original, pid_t copy, RemoteCalls& calls) {
    const Fd memory(::open(("/proc/" + std::to_string(copy) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    std::uint64_t room = most_brought_in;
    for (const CountedMapping& mapping : mappings)
        for (const Run& run : touched_pages(original, mapping)) {
            if (run.end - run.begin > room) return;
            room -= run.end - run.begin;
            std::vector<std::uint8_t> contents(run.end - run.begin);
            if (!read_memory(original, run.begin, contents)) continue;
            const auto mapped =
                calls.call(SYS_mmap, {run.begin, contents.size(), static_cast<std::uint64_t>(mapping.protection),
                                      MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0});
            if (!mapped.value || static_cast<std::uint64_t>(*mapped.value) != run.begin) continue;
            if (::pwrite(memory.get(), contents.data(), contents.size(), static_cast<off_t>(run.begin)) !=
                static_cast<ssize_t>(contents.size()))
                calls.call(SYS_munmap, {run.begin, contents.size()});
        }
}

}  // namespace tmaprobe::trace
