#include "trace/code_watch.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "base/file.h"

namespace tmaprobe::trace {
namespace {

/// A line of /proc/PID/maps.
struct MapsLine {
    unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    char permissions[8] = {};
    bool is_vdso = false;
    bool writable() const { return permissions[1] == 'w'; }
    bool executable() const { return permissions[2] == 'x'; }
    bool shared() const { return permissions[3] == 's'; }
    std::tuple<unsigned, unsigned, unsigned long long> file() const { return {major, minor, inode}; }
};

std::vector<MapsLine> read_maps(pid_t thread) {
    std::vector<MapsLine> all;
    const auto maps = read_file("/proc/" + std::to_string(thread) + "/maps");
    std::istringstream lines(maps ? *maps : std::string());
    std::string line;
    while (std::getline(lines, line)) {
        MapsLine one;
        if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %x:%x %llu", &one.begin, &one.end, one.permissions,
                        &one.offset, &one.major, &one.minor, &one.inode) != 7)
            continue;
        one.is_vdso = line.ends_with("[vdso]");
        all.push_back(one);
    }
    return all;
}

}  // namespace

void CodeWatch::read_mappings() {
    mappings_known_ = true;
    mappings_.clear();
    const std::vector<MapsLine> lines = read_maps(process_.pid());
    std::set<std::tuple<unsigned, unsigned, unsigned long long>> written_elsewhere;
    for (const MapsLine& line : lines)
        if (line.inode && line.shared() && line.writable()) written_elsewhere.insert(line.file());
    for (const MapsLine& line : lines) {
        if (!line.executable()) continue;
        const bool of_a_file = line.inode && !line.shared() && !written_elsewhere.contains(line.file());
        const CodeMemory memory = line.writable()             ? CodeMemory::writable
                                  : of_a_file || line.is_vdso ? CodeMemory::fixed
                                                              : CodeMemory::changeable;
        mappings_.push_back({line.begin, line.end, memory});
    }
}

CodeMemory CodeWatch::memory_of(std::uint64_t address) {
    if (!mappings_known_) read_mappings();
    const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                        [](std::uint64_t at, const Mapping& mapping) { return at < mapping.begin; });
    if (after == mappings_.begin() || address >= (after - 1)->end) return CodeMemory::changeable;
    return (after - 1)->memory;
}

const std::vector<std::uint8_t>& CodeWatch::kept(std::uint64_t page) {
    const auto [found, is_new] = pages_.try_emplace(page);
    if (is_new) {
        found->second.resize(page_bytes);
        found->second.resize(process_.read(page, found->second.data(), page_bytes));
    }
    return found->second;
}

std::size_t CodeWatch::read(std::uint64_t address, std::span<std::uint8_t> to, CodeMemory memory) {
    if (memory != CodeMemory::fixed) return process_.read(address, to.data(), to.size());
    std::size_t done = 0;
    while (done < to.size() && memory_of(address + done) == memory) {
        const std::uint64_t page = page_of(address + done), begin = address + done - page;
        const std::vector<std::uint8_t>& bytes = kept(page);
        if (begin >= bytes.size()) break;
        const auto count = static_cast<std::size_t>(std::min(bytes.size() - begin, to.size() - done));
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), count,
                    to.begin() + static_cast<std::ptrdiff_t>(done));
        done += count;
    }
    return done;
}

std::vector<std::uint64_t> CodeWatch::changed_pages() {
    std::vector<std::uint64_t> changed;
    std::vector<std::uint8_t> now(page_bytes);
    for (const auto& [begin, kept] : pages_) {
        const std::size_t read = process_.read(begin, now.data(), page_bytes);
        const bool is_same = read == kept.size() && std::equal(kept.begin(), kept.end(), now.begin());
        if (!is_same || memory_of(begin) != CodeMemory::fixed) changed.push_back(begin);
    }
    for (const std::uint64_t page : changed) pages_.erase(page);
    return changed;
}

void CodeWatch::clear() {
    pages_.clear();
    mappings_known_ = false;
}

#if defined(__x86_64__)

std::vector<AddressRange> ranges_remapped(const Registers& before, std::uint64_t result) {
    const auto& r = before.native;
    constexpr std::uint64_t first_error = ~std::uint64_t{4095};
    const bool failed = result >= first_error;
    switch (r.rax) {
        case SYS_mmap:
            if (failed) return {};
            return {{result, result + r.rsi}};
        case SYS_munmap:
        case SYS_mprotect:
        case SYS_pkey_mprotect:
        case SYS_madvise:
        case SYS_remap_file_pages:
            return {{r.rdi, r.rdi + r.rsi}};
        case SYS_mremap: {
            std::vector<AddressRange> both{{r.rdi, r.rdi + r.rsi}};
            if (!failed) both.push_back({result, result + r.rdx});
            return both;
        }
        case SYS_shmat:
        case SYS_shmdt:
            return {{0, ~std::uint64_t{0}}};  // how long they are is not said
        default:
            return {};
    }
}

#else

std::vector<AddressRange> ranges_remapped(const Registers&, std::uint64_t) { return {}; }

#endif

}  // namespace tmaprobe::trace
