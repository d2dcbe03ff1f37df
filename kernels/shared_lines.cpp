#include "kernels/shared_lines.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tmaprobe::kernels {

Result<SharedLines> SharedLines::make(Team& team, std::optional<int> numa_node) {
    const std::uint64_t page = memory::base_page_bytes();
    auto buffer = TRY(memory::Buffer::map(2 * page, {}, numa_node));
    std::array<Result<>, 2> touched;
    team.run([&](std::size_t member) {
        if (member == 0) touched[0] = buffer.fault_in(0, page);
        if (member == team.size() - 1) touched[1] = buffer.fault_in(page, page);
    });
    for (const auto& result : touched)
        if (!result) return pass_on(result);
    return SharedLines(std::move(buffer));
}

Result<> check_distinct(const std::vector<int>& cpus) {
    std::vector<int> sorted = cpus;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return {};
    return fail(ErrorCode::bad_usage, fmt::format("CPU {} is named twice", *twice),
                "threads that wait for each other need a CPU each");
}

Result<std::vector<int>> first_cpus(std::size_t count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < count; ++cpu)
            if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    if (cpus.size() == count) return cpus;
    return fail(ErrorCode::unavailable,
                fmt::format("{} CPUs are needed, and this process may use {}", count, cpus.size()),
                "see taskset -p $$ for the CPUs that it may use");
}

}  // namespace tmaprobe::kernels
