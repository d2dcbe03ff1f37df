#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/fd.h"

namespace tmaprobe {
namespace {

Result<> write_all(int descriptor, std::string_view content, const std::string& name) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(errno, "cannot write " + name);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<> write_in_place(const std::filesystem::path& path, std::string_view content) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file) return fail_errno(errno, "cannot open " + path.string());
    return write_all(file.get(), content, path.string());
}

/// /dev/stdout and its like are links to whatever is open: never something to replace.
bool is_device_path(const std::filesystem::path& path) {
    const std::string name = path.lexically_normal().string();
    return name.starts_with("/dev/") || name.starts_with("/proc/");
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto unreadable = [&](const std::string& why) {
        return fail(ErrorCode::bad_input, "cannot read " + path.string() + ": " + why);
    };
    if (!file) return unreadable(std::generic_category().message(errno));
    struct stat status{};
    if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) return unreadable("it is a directory");

    std::string content;
    char buffer[65536];
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(std::generic_category().message(errno));
        if (got == 0) return content;
        content.append(buffer, static_cast<std::size_t>(got));
        if (content.size() > limit_bytes)
            return unreadable("it is larger than " + std::to_string(limit_bytes >> 20) + " MiB");
    }
}

Result<> write_descriptor(int descriptor, std::string_view content, const std::string& name) {
    return write_all(descriptor, content, name);
}

Result<> write_file(const std::filesystem::path& asked, std::string_view content) {
    if (is_device_path(asked)) return write_in_place(asked, content);
    // A link stays a link: what it points to is replaced.
    std::error_code unresolved;
    auto path = std::filesystem::canonical(asked, unresolved);
    if (unresolved) {
        // A link to a file that is not there yet is followed one step.
        const auto target = std::filesystem::read_symlink(asked, unresolved);
        path = unresolved ? asked : asked.parent_path() / target;
    }
    struct stat status{};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail(ErrorCode::system, "cannot write " + path.string() + ": it is a directory");
    if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, content);

    std::string beside = path.string() + ".XXXXXX";
    Fd file(::mkostemp(beside.data(), O_CLOEXEC));
    if (!file) return fail_errno(errno, "cannot write " + path.string(), "is the directory there and writable?");
    Result<> result = write_all(file.get(), content, path.string());
    // mkostemp makes the file private; a record is as readable as any file the user creates.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (result && ::fchmod(file.get(), exists ? status.st_mode & 0777 : 0666 & ~mask) != 0)
        result = fail_errno(errno, "cannot write " + path.string());
    if (result && ::fsync(file.get()) != 0) result = fail_errno(errno, "cannot write " + path.string());
    file.close();
    if (result && ::rename(beside.c_str(), path.c_str()) != 0)
        result = fail_errno(errno, "cannot replace " + path.string());
    if (!result) ::unlink(beside.c_str());
    return result;
}

std::string read_line(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace tmaprobe
