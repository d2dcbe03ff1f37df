#include "trace/copy_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::trace {

#if !defined(__x86_64__)

std::optional<std::uint64_t> stop_clocks(pid_t, RemoteCalls&) { return std::nullopt; }

#else

namespace {

constexpr std::uint64_t page_bytes = 4096;
using Page = std::array<std::uint8_t, page_bytes>;

struct Range {
    std::uint64_t begin = 0, end = 0;
    bool operator==(const Range& other) const { return end - begin == other.end - other.begin; }
};

/// What the kernel maps beside its code of clocks: the same pages in every process.
std::vector<Range> clock_mappings(const std::string& process) {
    const auto text = read_file("/proc/" + process + "/maps");
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    std::vector<Range> found;
    while (std::getline(lines, line)) {
        unsigned long long begin = 0, end = 0;
        const bool is_one = line.ends_with("[vvar]") || line.ends_with("[vvar_vclock]");
        if (is_one && std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) == 2) found.push_back({begin, end});
    }
    return found;
}

/// Some of the pages cannot be read, and say so by a signal; a system call says it in words.
bool read_own(std::uint64_t address, Page& page) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    const Fd from(ends[0]), to(ends[1]);
    return ::write(to.get(), reinterpret_cast<const void*>(address), page_bytes) == static_cast<ssize_t>(page_bytes) &&
           ::read(from.get(), page.data(), page_bytes) == static_cast<ssize_t>(page_bytes);
}

/// Not in the middle of being changed.
bool read_settled(std::uint64_t address, Page& page) {
    constexpr int most_tries = 50;
    Page again;
    for (int tries = 0; tries < most_tries; ++tries) {
        if (!read_own(address, page)) return false;
        const timespec moment{0, 10'000};
        ::nanosleep(&moment, nullptr);
        if (read_own(address, again) && again == page) return true;
    }
    return false;
}

bool same_time(pid_t copy) {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/ns/time", ignored) ==
           std::filesystem::read_symlink("/proc/" + std::to_string(copy) + "/ns/time", ignored);
}

/// Private memory in place of the kernel's, with these pages.
bool replace(pid_t copy, RemoteCalls& calls, const Range& range,
             const std::vector<std::pair<std::uint64_t, Page>>& pages) {
    const auto mapped = calls.call(
        SYS_mmap, {range.begin, range.end - range.begin, PROT_READ | PROT_WRITE,
                   static_cast<std::uint64_t>(MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS), ~std::uint64_t{0}, 0});
    const Fd memory(::open(("/proc/" + std::to_string(copy) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!mapped.value || *mapped.value < 0 || !memory) return false;
    for (const auto& [offset, page] : pages)
        if (::pwrite(memory.get(), page.data(), page_bytes, static_cast<off_t>(range.begin + offset)) !=
            static_cast<ssize_t>(page_bytes))
            return false;
    return true;
}

}  // namespace

std::optional<std::uint64_t> stop_clocks(pid_t copy, RemoteCalls& calls) {
    const auto own = clock_mappings("self"), theirs = clock_mappings(std::to_string(copy));
    if (own.empty() || own != theirs || !same_time(copy)) return std::nullopt;
    std::vector<std::vector<std::pair<std::uint64_t, Page>>> contents(own.size());
    for (std::size_t i = 0; i < own.size(); ++i)
        for (std::uint64_t at = own[i].begin; at < own[i].end; at += page_bytes)
            if (Page page; read_settled(at, page)) contents[i].emplace_back(at - own[i].begin, page);
    if (contents.front().empty()) return std::nullopt;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!replace(copy, calls, theirs[i], contents[i])) return std::nullopt;
    return __builtin_ia32_rdtsc();
}

#endif

}  // namespace tmaprobe::trace
