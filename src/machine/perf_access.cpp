#include "machine/perf_access.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::machine {
namespace {

/// A "Name:\tvalue" line of /proc/self/status.
std::string status_field(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(name + ":", 0) == 0) {
            const auto value = line.find_first_not_of(" \t", name.size() + 1);
            return value == std::string::npos ? "" : line.substr(value);
        }
    return {};
}

bool has_capability(unsigned number) {
    const std::string text = status_field("CapEff");
    std::uint64_t effective = 0;
    std::from_chars(text.data(), text.data() + text.size(), effective, 16);
    return (effective >> number) & 1;
}

std::string find_container() {
    std::error_code ignored;
    if (std::filesystem::exists("/.dockerenv", ignored)) return "docker";
    if (std::filesystem::exists("/run/.containerenv", ignored)) return "podman";
    if (const std::string manager = read_line("/run/systemd/container"); !manager.empty()) return manager;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        for (const char* name : {"kubepods", "docker", "libpod", "lxc", "containerd"})
            if (line.find(name) != std::string::npos) return std::strcmp(name, "kubepods") ? name : "kubernetes";
    return {};
}

std::string find_hypervisor() {
    if (const std::string type = read_line("/sys/hypervisor/type"); !type.empty()) return type;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.rfind("flags", 0) == 0) return line.find(" hypervisor") != std::string::npos ? "unknown" : "";
    return {};
}

}  // namespace

PerfAccess detect_perf_access() {
    constexpr unsigned cap_sys_admin = 21, cap_perfmon = 38;
    PerfAccess access;
    const std::string paranoid = read_line("/proc/sys/kernel/perf_event_paranoid");
    std::from_chars(paranoid.data(), paranoid.data() + paranoid.size(), access.paranoid);
    access.seccomp = status_field("Seccomp") == "2";
    access.cap_perfmon = has_capability(cap_perfmon) || has_capability(cap_sys_admin);
    access.container = find_container();
    access.hypervisor = find_hypervisor();
    utsname name{};
    if (::uname(&name) == 0) {
        access.kernel = name.release;
        access.kernel_version = upstream_version(name.release, name.version, read_line("/proc/version_signature"));
    }
    access.core_pmu = !core_pmus().empty();
    access.nmi_watchdog = read_line("/proc/sys/kernel/nmi_watchdog") == "1";
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        constexpr rlim_t most = std::numeric_limits<long>::max();
        access.fd_limit = static_cast<long>(std::min(limit.rlim_max, most));
    }
    return access;
}

PerfAccess perf_access_of(const Host& host) {
    PerfAccess access = detect_perf_access();
    access.paranoid = host.perf_event_paranoid;
    access.hypervisor = host.hypervisor;
    access.nmi_watchdog = host.nmi_watchdog;
    access.kernel = host.kernel;
    return access;
}

}  // namespace tmaprobe::machine
