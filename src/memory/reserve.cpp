#include "memory/reserve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/process_end.h"

namespace tmaprobe::memory {
namespace {

/// One pool's file with what it is to hold.
struct Raise {
    std::string pages;
    std::filesystem::path file;
    std::uint64_t from = 0, to = 0;
};

std::optional<std::uint64_t> read_count(const std::filesystem::path& path) {
    const std::string line = read_line(path);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
    return error == std::errc{} && end != line.data() ? std::optional(count) : std::nullopt;
}

bool write_count(const std::filesystem::path& path, std::uint64_t count) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    const std::string text = fmt::format("{}\n", count);
    return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The kernel gives what it finds; memory that is in pieces is put together once before it is asked again.
bool raise_pool(const Raise& raise, const SystemFiles& files) {
    constexpr int tries = 3;
    for (int attempt = 0; attempt < tries; ++attempt) {
        if (!write_count(raise.file, raise.to)) return false;
        if (read_count(raise.file).value_or(0) >= raise.to) return true;
        static_cast<void>(write_count(files.proc / "sys/vm/compact_memory", 1));
    }
    return false;
}

/// Takes out what was put in: others may have changed the pool meanwhile.
bool lower_pool(const Raise& raise, std::uint64_t added) {
    const auto now = read_count(raise.file);
    return now && write_count(raise.file, *now - std::min(*now, added));
}

/// Lowers what was raised, the last first; returns the file of the first pool that cannot be written.
std::string lower_all(const std::vector<std::pair<Raise, std::uint64_t>>& raised) {
    std::string failed;
    for (auto each = raised.rbegin(); each != raised.rend(); ++each)
        if (!lower_pool(each->first, each->second) && failed.empty()) failed = each->first.file.string();
    return failed;
}

/// In the keeper: raises, says "ok" or why not, waits for the end of the run, lowers and says whether that went well.
[[noreturn]] void keep(int life, int answers, pid_t measuring, const std::vector<Raise>& raises,
                       const SystemFiles& files) {
    ::setsid();
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(ignored, SIG_IGN);
    const int nowhere = ::open("/dev/null", O_RDWR);
    // Past what is to be moved, then to where close_range begins.
    const int high_life = ::fcntl(life, F_DUPFD, 64), high_answers = ::fcntl(answers, F_DUPFD, 64);
    for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
    constexpr int life_end = 3, answers_end = 4;
    ::dup2(high_life, life_end);
    ::dup2(high_answers, answers_end);
    ::syscall(SYS_close_range, answers_end + 1, ~0U, 0);
    const auto say = [&](const std::string& text) {
        static_cast<void>(write_descriptor(answers_end, text + "\n", "pipe"));
    };
    const Fd ended = end_of_process(measuring);

    std::vector<std::pair<Raise, std::uint64_t>> raised;
    for (const auto& raise : raises) {
        const bool done = raise_pool(raise, files);
        const std::uint64_t now = read_count(raise.file).value_or(raise.from);
        raised.emplace_back(raise, now - std::min(now, raise.from));
        if (done) continue;
        lower_all(raised);
        say(fmt::format("{} of the {} pages of {} could be reserved", now - std::min(now, raise.from),
                        raise.to - raise.from, raise.pages));
        ::_exit(1);
    }
    say("ok");
    // Forked children hold the pipe open; the process that measures is waited for as well.
    pollfd ends[]{{life_end, 0, 0}, {ended.get(), POLLIN, 0}};
    while (::poll(ends, ended ? 2 : 1, -1) < 0 && errno == EINTR) {
    }
    const std::string failed = lower_all(raised);
    say(failed.empty() ? "ok" : failed);
    ::_exit(failed.empty() ? 0 : 1);
}

/// One line of what the keeper says; empty when it is gone.
std::string answer_of(const Fd& answers) {
    std::string line;
    for (char letter = 0; ::read(answers.get(), &letter, 1) == 1 && letter != '\n';) line += letter;
    return line;
}

Result<std::vector<Raise>> raises_for(const std::vector<PoolNeed>& needs, const SystemFiles& files) {
    std::vector<Raise> raises;
    for (const auto& need : needs) {
        const auto folder = huge_page_pool(need.mode, files, need.numa_node);
        const auto total = read_count(folder / "nr_hugepages");
        if (!total)
            return fail(ErrorCode::unavailable, fmt::format("there is no pool of huge pages of {}", need.mode.name));
        const std::uint64_t free = free_huge_pages(need.mode, files, need.numa_node);
        if (free >= need.pages) continue;
        const std::filesystem::path file = folder / "nr_hugepages";
        const std::uint64_t to = *total + need.pages - free;
        if (::access(file.c_str(), W_OK) != 0)
            return fail(
                ErrorCode::no_permission,
                fmt::format("--reserve-pages: only root may reserve huge pages of {}", need.mode.name),
                fmt::format("run it as root, or reserve them before: echo {} | sudo tee {}", to, file.string()));
        raises.push_back({need.mode.name, file, *total, to});
    }
    return raises;
}

}  // namespace

Result<ReservedPages> ReservedPages::reserve(const std::vector<PoolNeed>& needs, const SystemFiles& files) {
    const auto raises = TRY(raises_for(needs, files));
    ReservedPages reserved;
    if (raises.empty()) return reserved;
    int life[2], answers[2];
    for (int* ends : {life, answers})
        if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd life_read(life[0]), answers_write(answers[1]);
    reserved.life_ = Fd(life[1]);
    reserved.answers_ = Fd(answers[0]);
    const pid_t measuring = ::getpid();
    reserved.keeper_ = ::fork();
    if (reserved.keeper_ < 0) return fail_errno(errno, "cannot start a process");
    if (reserved.keeper_ == 0) {
        reserved.life_.close();
        keep(life_read.get(), answers_write.get(), measuring, raises, files);
    }
    answers_write.close();
    if (const std::string answer = answer_of(reserved.answers_); answer != "ok")
        return fail(
            ErrorCode::unavailable,
            "--reserve-pages: " + (answer.empty() ? std::string("the process that reserves them died") : answer),
            "free memory is in pieces or used up: a smaller --size, or reserve them soon after the machine was "
            "started");
    for (const auto& raise : raises) reserved.changes_.push_back({raise.pages, raise.from, raise.to});
    return reserved;
}

Result<> ReservedPages::give_back() {
    if (keeper_ <= 0) return {};
    life_.close();
    const std::string answer = answer_of(answers_);
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
    keeper_ = -1;
    if (answer == "ok") return {};
    return fail(ErrorCode::system,
                "the reserved huge pages were not given back" + (answer.empty() ? "" : ": cannot write " + answer),
                "see nr_hugepages in /sys/kernel/mm/hugepages");
}

ReservedPages::ReservedPages(ReservedPages&& other) noexcept { *this = std::move(other); }

ReservedPages& ReservedPages::operator=(ReservedPages&& other) noexcept {
    std::swap(keeper_, other.keeper_);
    std::swap(life_, other.life_);
    std::swap(answers_, other.answers_);
    std::swap(changes_, other.changes_);
    return *this;
}

ReservedPages::~ReservedPages() { static_cast<void>(give_back()); }

}  // namespace tmaprobe::memory
