#include "experiments/cpu_choice.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace tmaprobe::experiments {
namespace {

constexpr unsigned look_us = 50'000;
/// Ticks of /proc/stat are 10 ms long: a fifth of the time is the least that so short a look tells from nothing.
constexpr double busy_from = 0.2;

/// Ticks used, and all ticks, of each CPU since boot.
std::map<int, std::pair<double, double>> ticks_by_cpu() {
    std::map<int, std::pair<double, double>> all;
    std::ifstream file("/proc/stat");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
        std::istringstream fields(line.substr(3));
        int cpu = 0;
        double used = 0, sum = 0, value = 0;
        fields >> cpu;
        // user nice system idle iowait irq softirq steal
        for (int field = 0; field < 8 && fields >> value; ++field) {
            sum += value;
            if (field != 3 && field != 4) used += value;
        }
        all[cpu] = {used, sum};
    }
    return all;
}

/// How much there is against the CPU; 0: nothing.
int trouble(const CpuLook& look, const timing::CanaryLimits& limits) {
    const bool shared =
        look.reading.overlap > timing::halved_above || look.reading.ipc < limits.least_share * limits.expected_ipc;
    return (shared ? 1 : 0) + static_cast<int>(look.busy_share / busy_from) * 2;
}

}  // namespace

std::vector<int> quietest_first(std::vector<CpuLook> looks, const timing::CanaryLimits& limits) {
    std::stable_sort(looks.begin(), looks.end(), [&](const CpuLook& one, const CpuLook& other) {
        if (one.looked != other.looked) return one.looked;
        return trouble(one, limits) < trouble(other, limits);
    });
    std::vector<int> cpus;
    for (const auto& look : looks) cpus.push_back(look.cpu);
    return cpus;
}

std::vector<CpuLook> look_at_cpus(const std::vector<int>& cpus, const machine::Host& host) {
    std::vector<CpuLook> looks;
    for (const int cpu : cpus) looks.push_back({cpu, false, 0, {}});
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return looks;
    const auto before = ticks_by_cpu();
    ::usleep(look_us);
    const auto after = ticks_by_cpu();
    timing::ReorderProbe probe(host.reorder_buffer);
    for (auto& look : looks) {
        if (!machine::pin_this_thread(look.cpu)) continue;
        look.looked = true;
        look.reading = timing::read_canary(&probe);
        const auto old = before.find(look.cpu), now = after.find(look.cpu);
        if (old == before.end() || now == after.end() || !(now->second.second > old->second.second)) continue;
        look.busy_share = (now->second.first - old->second.first) / (now->second.second - old->second.second);
    }
    ::sched_setaffinity(0, sizeof allowed, &allowed);
    return looks;
}

std::string why_chosen(int chosen, const std::vector<CpuLook>& looks, const timing::CanaryLimits& limits) {
    if (looks.empty() || looks.front().cpu == chosen || !looks.front().looked) return {};
    const auto& usual = looks.front();
    if (usual.busy_share >= busy_from)
        return fmt::format("CPU {} is used: CPU {} is busy {:.0f}% of the time", chosen, usual.cpu,
                           100 * usual.busy_share);
    if (trouble(usual, limits) > 0)
        return fmt::format("CPU {} is used: another hyperthread of CPU {}'s core is busy", chosen, usual.cpu);
    return {};
}

}  // namespace tmaprobe::experiments
