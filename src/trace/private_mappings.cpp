#include "trace/private_mappings.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t most_copied = std::uint64_t{64} << 20;  ///< of one copy's shared memory, page by page

bool deleted(const SharedMapping& mapping) { return mapping.path.ends_with(" (deleted)"); }

/// Memory that has no place on a disk, whose pages begin to exist when they are touched.
bool is_memory(const SharedMapping& mapping) {
    for (const char* prefix : {"/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage"})
        if (mapping.path.starts_with(prefix)) return true;
    return false;
}

bool is_device(const SharedMapping& mapping) {
    return !is_memory(mapping) && (mapping.path.starts_with("/dev/") || !mapping.path.starts_with("/"));
}

std::vector<SharedMapping> shared_mappings(const std::string& maps) {
    std::vector<SharedMapping> mappings;
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);)
        if (auto mapping = shared_mapping(line)) mappings.push_back(std::move(*mapping));
    return mappings;
}

class Privatizer {
  public:
    Privatizer(pid_t copy, TouchedMemory& touched, RemoteCalls& calls)
        : copy_(copy),
          calls_(calls),
          touched_(touched),
          memory_(::open(("/proc/" + std::to_string(copy) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {}

    bool replace(const SharedMapping& mapping) {
        if (is_device(mapping)) return false;
        if (mapping.bytes() > most_copied - copied_)
            return map_again(mapping) ||
                   (is_memory(mapping) && touched_.bring_in(mapping.begin, mapping.end, mapping.protection, true));
        copied_ += mapping.bytes();
        return copy_contents(mapping);
    }

    /// Where the copy has nothing any more.
    bool put_back(const SharedMapping& mapping) {
        return map_again(mapping) || touched_.bring_in(mapping.begin, mapping.end, mapping.protection, true);
    }

  private:
    std::optional<std::int64_t> call(long number, const std::array<std::uint64_t, 6>& arguments) {
        const auto answer = calls_.call(number, arguments);
        if (!answer.value || *answer.value < 0) return std::nullopt;
        return answer.value;
    }

    bool map(const SharedMapping& mapping, int flags, std::uint64_t descriptor, std::uint64_t offset) {
        return call(SYS_mmap,
                    {mapping.begin, mapping.bytes(), static_cast<std::uint64_t>(mapping.protection),
                     static_cast<std::uint64_t>(MAP_FIXED | MAP_PRIVATE | MAP_NORESERVE | flags), descriptor, offset})
            .has_value();
    }

    /// Room in the copy for a path or a list of pages.
    std::uint64_t scratch() {
        if (scratch_) return scratch_;
        const auto got = call(
            SYS_mmap, {0, scratch_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0});
        return scratch_ = got ? static_cast<std::uint64_t>(*got) : 0;
    }

    /// The same file at the same place, private.
    bool map_again(const SharedMapping& mapping) {
        std::string path = mapping.path;
        if (deleted(mapping) || !is_same_file(mapping)) {
            char name[64];
            std::snprintf(name, sizeof name, "/proc/self/map_files/%llx-%llx",
                          static_cast<unsigned long long>(mapping.begin), static_cast<unsigned long long>(mapping.end));
            path = name;
        }
        if (!scratch() || path.size() + 1 > scratch_bytes) return false;
        if (::pwrite(memory_.get(), path.c_str(), path.size() + 1, static_cast<off_t>(scratch())) < 0) return false;
        const auto opened = call(
            SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), scratch(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0});
        if (!opened) return false;
        const bool mapped = map(mapping, 0, static_cast<std::uint64_t>(*opened), mapping.offset);
        return call(SYS_close, {static_cast<std::uint64_t>(*opened)}) && mapped;
    }

    bool is_same_file(const SharedMapping& mapping) const {
        struct stat status{};
        const std::string seen = "/proc/" + std::to_string(copy_) + "/root" + mapping.path;
        return ::stat(seen.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == mapping.inode;
    }

    /// To read a page of memory that nobody has touched would make it exist for all who share it.
    bool holes_are_left_alone(const SharedMapping& mapping) const {
        struct statfs system{};
        if (is_memory(mapping)) return true;
        return ::statfs(("/proc/" + std::to_string(copy_) + "/root" + mapping.path).c_str(), &system) == 0 &&
               system.f_type == TMPFS_MAGIC;
    }

    /// Which pages exist: one byte for each.
    std::vector<std::uint8_t> present_pages(const SharedMapping& mapping) {
        std::vector<std::uint8_t> present(mapping.bytes() / page, 1);
        if (!holes_are_left_alone(mapping)) return present;
        if (!scratch() || present.size() > scratch_bytes ||
            !call(SYS_mincore, {mapping.begin, mapping.bytes(), scratch()}))
            return {};
        if (::pread(memory_.get(), present.data(), present.size(), static_cast<off_t>(scratch())) !=
            static_cast<ssize_t>(present.size()))
            return {};
        return present;
    }

    bool copy_contents(const SharedMapping& mapping) {
        const auto present = present_pages(mapping);
        if (present.empty()) return false;
        std::vector<std::uint8_t> contents(mapping.bytes());
        for (std::size_t i = 0; i < present.size(); ++i) {
            if (!(present[i] & 1)) continue;
            const auto at = static_cast<off_t>(mapping.begin + i * page);
            // Beyond the end of a file there is nothing to be read.
            static_cast<void>(!::pread(memory_.get(), contents.data() + i * page, page, at));
        }
        if (!map(mapping, MAP_ANONYMOUS, ~std::uint64_t{0}, 0)) return false;
        for (std::size_t i = 0; i < present.size(); ++i) {
            if (!(present[i] & 1)) continue;
            const auto at = static_cast<off_t>(mapping.begin + i * page);
            if (::pwrite(memory_.get(), contents.data() + i * page, page, at) != static_cast<ssize_t>(page))
                return false;
        }
        return true;
    }

    static constexpr std::size_t scratch_bytes = std::size_t{most_copied / page};
    pid_t copy_;
    RemoteCalls& calls_;
    TouchedMemory& touched_;
    Fd memory_;
    std::uint64_t scratch_ = 0, copied_ = 0;
};

}  // namespace

std::optional<SharedMapping> shared_mapping(const std::string& line) {
    SharedMapping mapping;
    unsigned long long begin = 0, end = 0, offset = 0;
    char permissions[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*x:%*x %llu %n", &begin, &end, permissions, &offset,
                    &mapping.inode, &path_at) < 5 ||
        permissions[3] != 's')
        return std::nullopt;
    mapping.begin = begin;
    mapping.end = end;
    mapping.offset = offset;
    mapping.protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                         (permissions[2] == 'x' ? PROT_EXEC : 0);
    if (path_at > 0 && static_cast<std::size_t>(path_at) < line.size())
        mapping.path = line.substr(static_cast<std::size_t>(path_at));
    return mapping;
}

std::vector<SharedMapping> written_files(const std::string& maps) {
    auto mappings = shared_mappings(maps);
    std::erase_if(mappings, [](const SharedMapping& mapping) {
        return !(mapping.protection & PROT_WRITE) || is_memory(mapping) || is_device(mapping);
    });
    return mappings;
}

bool make_mappings_private(pid_t copy, const std::vector<SharedMapping>& left_out, TouchedMemory& touched,
                           RemoteCalls& calls, std::string& why) {
    Privatizer privatizer(copy, touched, calls);
    for (const SharedMapping& mapping : left_out) static_cast<void>(privatizer.put_back(mapping));
    const std::string maps = read_file("/proc/" + std::to_string(copy) + "/maps").value_or("");
    for (const SharedMapping& mapping : shared_mappings(maps)) {
        const bool written = mapping.protection & PROT_WRITE;
        if (!written && !is_device(mapping)) continue;  // mprotect() of it ends a window
        if (privatizer.replace(mapping)) continue;
        why = mapping.path.empty() ? "memory without a name" : mapping.path;
        return false;
    }
    return true;
}

}  // namespace tmaprobe::trace
