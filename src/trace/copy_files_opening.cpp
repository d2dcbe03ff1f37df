#include "trace/copy_files.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

#include "base/fd.h"
#include "trace/harmless_files.h"
#include "trace/injected_call.h"

// Of a copy's files: what it opens, and under which numbers.
namespace tmaprobe::trace {
namespace {

std::string text_at(const TracedProcess& copy, std::uint64_t address) {
    std::string text;
    constexpr std::size_t most = 4096, page = 4096;
    while (text.size() < most) {
        char part[256];
        const std::size_t up_to_page = page - address % page;
        const std::size_t got = copy.read(address, part, std::min(sizeof part, up_to_page));
        const auto end = std::find(part, part + got, '\0');
        text.append(part, end);
        if (got == 0 || end != part + got) break;
        address += got;
    }
    return text;
}

/// What a descriptor of a process stands for, without opening it.
Fd place_of(pid_t process, std::int64_t descriptor) {
    return Fd(
        ::open(("/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor)).c_str(), O_PATH | O_CLOEXEC));
}

}  // namespace

/// Whether the copy itself finds there what the original would: by a whole path, or from a folder that it has.
bool CopyFiles::reaches(TracedProcess& copy, int folder, std::uint64_t path) const {
    char first = 0;
    if (folder == AT_FDCWD || (copy.read(path, &first, 1) == 1 && first == '/')) return true;
    const auto found = descriptors_.find(folder);
    return found != descriptors_.end() && found->second.kind == Kind::opened;
}

/// Has the copy hold something under each number that the original has in use, so that what it opens gets the next one.
bool CopyFiles::keep_numbers(TracedProcess& copy) {
    constexpr std::size_t most = 64;
    if (numbers_kept_) return true;
    if (descriptors_.size() > most) return false;
    const auto made = inject_system_call(copy, SYS_eventfd2, {0, 0, 0, 0, 0, 0});
    const auto first = made ? static_cast<std::int64_t>(*made) : -1;
    if (first < 0) return false;
    for (const int number : std::views::keys(descriptors_)) {
        if (number == first) continue;
        const auto put =
            inject_system_call(copy, SYS_dup3, {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(number)});
        if (!put || static_cast<std::int64_t>(*put) != number) return false;
    }
    if (!descriptors_.contains(static_cast<int>(first)) &&
        !inject_system_call(copy, SYS_close, {static_cast<std::uint64_t>(first)}))
        return false;
    return numbers_kept_ = true;
}

/// First as a mere place, which nobody takes notice of; when that is something harmless, to be read.
CallOutcome CopyFiles::open(TracedProcess& copy, int folder, std::uint64_t path, int flags) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    constexpr mode_t plain = 0644;
    if (!reaches(copy, folder, path)) return cannot;
    if (!keep_numbers(copy)) return cannot;
    if ((flags & O_ACCMODE) == O_WRONLY && (flags & O_CREAT))
        return open_nothing(copy, Kind::written, S_IFREG | plain, static_cast<unsigned>(flags));
    const auto opened = [&](int with) -> std::optional<std::int64_t> {
        const auto got = inject_system_call(
            copy, SYS_openat,
            {static_cast<std::uint64_t>(static_cast<std::int64_t>(folder)), path, static_cast<std::uint64_t>(with)});
        if (!got) return std::nullopt;
        return static_cast<std::int64_t>(*got);
    };
    const auto place = opened(O_PATH | O_CLOEXEC | (flags & (O_DIRECTORY | O_NOFOLLOW)));
    if (!place) return cannot;
    if (*place < 0) return flags & O_CREAT ? cannot : CallOutcome::answered(*place);
    const Fd here = place_of(copied_, *place);
    struct stat status{};
    const bool harmless = here && ::fstat(here.get(), &status) == 0 &&
                          (can_be_opened(here.get()) || is_known_to_be_harmless(text_at(copy, path)));
    if (!inject_system_call(copy, SYS_close, {static_cast<std::uint64_t>(*place)})) return cannot;
    const bool only_reads = (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_TRUNC | O_APPEND | O_CREAT | O_PATH));
    if (!harmless || !(only_reads || is_plain_device(status))) return cannot;
    const auto got = opened(flags | O_NONBLOCK | O_NOCTTY);
    struct stat got_status{};
    if (!got) return cannot;
    // It may have been changed for another meanwhile.
    if (*got >= 0 && (::fstat(place_of(copied_, *got).get(), &got_status) != 0 || got_status.st_dev != status.st_dev ||
                      got_status.st_ino != status.st_ino))
        return cannot;
    if (*got >= 0) descriptors_[static_cast<int>(*got)] = {Kind::opened, {}, 0};
    return CallOutcome::answered(*got);
}

/// A number for what is not there: a file that nothing is written to, a pipe or socket without another end.
CallOutcome CopyFiles::open_nothing(TracedProcess& copy, Kind kind, mode_t mode, unsigned flags) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    if (!keep_numbers(copy)) return cannot;
    const auto number = inject_system_call(copy, SYS_eventfd2, {0, 0});
    if (!number || static_cast<std::int64_t>(*number) < 0) return cannot;
    const int got = static_cast<int>(*number);
    Descriptor made{kind, {got, {}, 0, flags, {}}, 0};
    made.file.status.st_mode = mode;
    descriptors_[got] = std::move(made);
    return CallOutcome::answered(got);
}

CallOutcome CopyFiles::make_pipe(TracedProcess& copy, const CopiedCall& call) {
    std::array<int, 2> ends{};
    for (int& end : ends) {
        const auto flags = static_cast<unsigned>(call[1]) | (&end == ends.data() ? O_RDONLY : O_WRONLY);
        const auto made = open_nothing(copy, Kind::of_other, S_IFIFO, flags);
        if (made.what != CallOutcome::What::answered) return made;
        end = static_cast<int>(made.value);
    }
    return CallOutcome::answered(copy.write(call[0], ends.data(), sizeof ends) ? 0 : -EFAULT);
}

/// Only what nobody listens at is known (a cache of names that does not run is asked by many a program).
CallOutcome CopyFiles::connect(TracedProcess& copy, const CopiedCall& call) const {
    sockaddr_un address{};
    const std::size_t bytes = std::min<std::size_t>(call[2], sizeof address);
    if (copy.read(call[1], &address, bytes) == bytes && address.sun_family == AF_UNIX && address.sun_path[0] == '/' &&
        std::find(std::begin(address.sun_path), std::end(address.sun_path), '\0') != std::end(address.sun_path)) {
        const auto there = inject_system_call(
            copy, SYS_faccessat,
            {static_cast<std::uint64_t>(std::int64_t{AT_FDCWD}), call[1] + offsetof(sockaddr_un, sun_path), F_OK});
        if (there && static_cast<std::int64_t>(*there) == -ENOENT) return CallOutcome::answered(-ENOENT);
    }
    return CallOutcome::ended(EndedBy::files);
}

CallOutcome CopyFiles::close(int descriptor) {
    if (descriptors_.erase(descriptor) == 0) return CallOutcome::answered(-EBADF);
    return numbers_kept_ ? CallOutcome::carried_out() : CallOutcome::answered(0);
}

/// Of what has no place to stand at, or has it in the copy itself.
CallOutcome CopyFiles::duplicate(TracedProcess& copy, const CopiedCall& call) {
    const auto cannot = CallOutcome::ended(EndedBy::files);
    const auto found = descriptors_.find(call.descriptor());
    if (found == descriptors_.end() || (found->second.kind != Kind::opened && found->second.kind != Kind::of_other))
        return cannot;
    if (!keep_numbers(copy)) return cannot;
    const Descriptor of = found->second;
    const auto number = inject_system_call(copy, static_cast<std::uint64_t>(call.number), call.arguments);
    if (!number) return cannot;
    const auto got = static_cast<std::int64_t>(*number);
    if (got >= 0) descriptors_[static_cast<int>(got)] = of;
    return CallOutcome::answered(got);
}

}  // namespace tmaprobe::trace
