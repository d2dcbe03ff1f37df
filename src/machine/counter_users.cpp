#include "machine/counter_users.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/file.h"

namespace tmaprobe::machine {
namespace {

namespace fs = std::filesystem;

bool holds_events(const fs::path& descriptors) {
    std::error_code ended;
    for (const auto& entry : fs::directory_iterator(descriptors, ended)) {
        std::error_code gone;
        if (fs::read_symlink(entry.path(), gone).string().find("[perf_event]") != std::string::npos) return true;
    }
    return false;
}

}  // namespace

std::string find_counter_users(const fs::path& proc) {
    constexpr std::size_t most_named = 4;
    std::map<pid_t, std::string> users;
    std::error_code ended;
    for (const auto& entry : fs::directory_iterator(proc, ended)) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (problem != std::errc{} || end != name.data() + name.size() || pid == ::getpid()) continue;
        if (holds_events(entry.path() / "fd")) users[pid] = read_line(entry.path() / "comm");
    }
    std::string text;
    std::size_t named = 0;
    for (const auto& [pid, name] : users) {
        if (named++ == most_named) return text + fmt::format(" and {} more", users.size() - most_named);
        text += fmt::format("{}{} (pid {})", text.empty() ? "" : ", ", name.empty() ? "?" : name, pid);
    }
    return text;
}

}  // namespace tmaprobe::machine
