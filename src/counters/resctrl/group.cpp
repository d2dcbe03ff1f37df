#include "counters/resctrl/group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::counters::resctrl {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "tmaprobe-";

/// What the kernel says of the last refused command, as an addition to an error; empty when it is "ok".
std::string last_status(const fs::path& root) {
    const std::string status = read_line(root / "info" / "last_cmd_status");
    return status.empty() || status == "ok" ? "" : " (the kernel says: " + status + ")";
}

/// One write(2), as resctrl files want it: nothing is replaced, created or truncated.
Result<> write_control(const fs::path& root, const fs::path& file, const std::string& text) {
    const Fd control(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!control) return fail_errno(errno, "cannot open " + file.string());
    if (::write(control.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    const int error = errno;
    auto failure = fail_errno(error, "cannot write " + file.string());
    failure.value().what += last_status(root);
    if (error == EINVAL) failure.value().code = ErrorCode::unavailable;
    return failure;
}

/// The process that made a group of ours; 0 for a name that is not one of ours.
pid_t maker_of(const std::string& name) {
    if (!name.starts_with(prefix)) return 0;
    pid_t maker = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, maker);
    return error == std::errc{} && stop != end && *stop == '-' ? maker : 0;
}

/// Every group named as ours, with the process that made it.
std::vector<std::pair<fs::path, pid_t>> groups_of_ours(const fs::path& root) {
    std::vector<std::pair<fs::path, pid_t>> groups;
    std::error_code ignored;
    for (const auto& folder : {root, root / "mon_groups"})
        for (const auto& entry : fs::directory_iterator(folder, ignored))
            if (const pid_t maker = maker_of(entry.path().filename()); maker > 0 && entry.is_directory(ignored))
                groups.emplace_back(entry.path(), maker);
    std::sort(groups.begin(), groups.end());
    return groups;
}

}  // namespace

Result<ResourceGroup> ResourceGroup::create(const Info& info, const std::string& label) {
    return make(info, info.root, label);
}

Result<ResourceGroup> ResourceGroup::create_monitor(const Info& info, const std::string& label) {
    return make(info, info.root / "mon_groups", label);
}

Result<ResourceGroup> ResourceGroup::make(const Info& info, const fs::path& folder, const std::string& label) {
    ResourceGroup group;
    const fs::path path = folder / fmt::format("{}{}-{}", prefix, ::getpid(), label);
    if (::mkdir(path.c_str(), 0755) != 0) {
        const int error = errno;
        if (error == ENOSPC)
            return fail(ErrorCode::unavailable, "the hardware has no resctrl group left" + last_status(info.root),
                        fmt::format("remove one that nobody needs: ls {}", info.root.string()));
        auto failure = fail_errno(error, "cannot make the resctrl group " + path.string());
        failure.value().what += last_status(info.root);
        return failure;
    }
    group.root_ = info.root;
    group.path_ = path;
    group.monitors_ = info.monitors;
    return group;
}

ResourceGroup::ResourceGroup(ResourceGroup&& other) noexcept { *this = std::move(other); }

ResourceGroup& ResourceGroup::operator=(ResourceGroup&& other) noexcept {
    std::swap(root_, other.root_);
    std::swap(path_, other.path_);
    std::swap(monitors_, other.monitors_);
    return *this;
}

ResourceGroup::~ResourceGroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
}

Result<> ResourceGroup::assign(const std::string& schemata) const {
    return write_control(root_, path_ / "schemata", schemata);
}

Result<> ResourceGroup::add_task(pid_t task) const {
    return write_control(root_, path_ / "tasks", fmt::format("{}\n", task));
}

std::vector<record::Event> ResourceGroup::read_monitors() const {
    std::vector<record::Event> events;
    for (const auto& monitor : monitors_) {
        record::Event event;
        event.name = monitor;
        event.pmu = "resctrl";
        int counted = 0;
        std::error_code ignored;
        for (const auto& domain : fs::directory_iterator(path_ / "mon_data", ignored)) {
            const std::string text = read_line(domain.path() / monitor);
            std::uint64_t value = 0;
            // "Unavailable" and "Error" are the kernel's words for a domain that cannot be read now.
            if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) continue;
            event.reading.raw += value;
            ++counted;
        }
        event.reading.value = static_cast<double>(event.reading.raw);
        event.reading.time_enabled_ns = event.reading.time_running_ns = counted ? 1 : 0;
        if (!counted) event.note = record::Note::not_counted;
        events.push_back(std::move(event));
    }
    return events;
}

std::vector<fs::path> find_leftovers(const fs::path& root) {
    std::vector<fs::path> leftovers;
    for (const auto& [path, maker] : groups_of_ours(root)) {
        const bool alive = ::kill(maker, 0) == 0 || errno == EPERM;
        if (!alive) leftovers.push_back(path);
    }
    return leftovers;
}

bool remove_groups_of(const fs::path& root, pid_t made_by) {
    bool all_gone = true;
    for (const auto& [path, maker] : groups_of_ours(root))
        if (maker == made_by && ::rmdir(path.c_str()) != 0 && errno != ENOENT) all_gone = false;
    return all_gone;
}

Result<std::vector<std::string>> remove_leftovers(const fs::path& root) {
    std::vector<std::string> removed;
    for (const auto& leftover : find_leftovers(root)) {
        if (::rmdir(leftover.c_str()) != 0) return fail_errno(errno, "cannot remove " + leftover.string());
        removed.push_back(leftover.filename());
    }
    return removed;
}

}  // namespace tmaprobe::counters::resctrl
