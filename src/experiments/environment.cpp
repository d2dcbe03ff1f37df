#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "counters/fit.h"
#include "counters/perf/perf.h"
#include "counters/resctrl/group.h"
#include "events/geometry.h"
#include "events/nearest.h"
#include "events/table.h"
#include "experiments/calibration_file.h"
#include "experiments/checks.h"
#include "machine/counter_users.h"
#include "machine/sysfs.h"
#include "model/model.h"
#include "trace/traced_process.h"

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

long read_count(const fs::path& path) {
    const std::string text = read_line(path);
    long value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::map<std::uint64_t, HugePages> find_huge_pages() {
    std::map<std::uint64_t, HugePages> found;
    std::error_code none;
    for (const auto& folder : fs::directory_iterator("/sys/kernel/mm/hugepages", none)) {
        const std::string name = folder.path().filename();  // hugepages-2048kB
        const auto digits = name.find('-');
        std::uint64_t kilobytes = 0;
        if (digits == std::string::npos) continue;
        std::from_chars(name.data() + digits + 1, name.data() + name.size(), kilobytes);
        found[kilobytes << 10] = {read_count(folder.path() / "nr_hugepages"),
                                  read_count(folder.path() / "free_hugepages")};
    }
    return found;
}

/// The bracketed word of "always [madvise] never".
std::string chosen_word(const std::string& line) {
    const auto open = line.find('['), close = line.find(']');
    return open == std::string::npos || close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

bool file_mentions(const char* path, const std::string& word) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.find(word) != std::string::npos) return true;
    return false;
}

void describe_table(Environment& surroundings) {
    const auto table = events::load({}, surroundings.host.cpu_id);
    if (!table) {
        if (const auto core = events::stand_in_for({}, surroundings.host))
            surroundings.stand_in = core->table.title + " (" + core->table.folder + ")";
        return;
    }
    if (const auto other = events::other_core_than_named({}, *table, surroundings.host); other && *other)
        surroundings.contradicted = (*other)->title + " (" + (*other)->folder + ")";
    surroundings.event_table = table->title + " (" + table->folder + ")";
    for (const auto& event : table->events) {
        if (event.name == "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE") surroundings.shares_core_slots = true;
        if (counters::is_topdown_metric(event, table->format)) surroundings.wants_perf_metrics = true;
    }
}

}  // namespace

Environment look_around(const machine::Host& host) {
    Environment around;
    around.host = host;
    around.access = machine::perf_access_of(host);
    around.access.counter_users = machine::find_counter_users();
    around.pmus = machine::core_pmus();
    around.limits = counters::perf::probe_limits();
    around.software_error = counters::perf::software_error();
    describe_table(around);
    around.kernel_bugs = events::kernel_bugs({}).value_or(std::vector<events::KernelBug>{});
    around.model_built = model::built();
    if (const auto may = trace::check_tracing(); around.model_built && !may) around.tracing = may.error();
    if (const auto found = find_calibration({}, host)) {
        if (found->calibration) around.calibrated = found->calibration->measured;
        if (found->warning) around.calibration_problem = found->warning->what;
    }
    around.tlbs = events::complete_geometry(host, {}).tlbs;
    around.huge_pages = find_huge_pages();
    around.transparent_huge_pages = chosen_word(read_line("/sys/kernel/mm/transparent_hugepage/enabled"));
    around.resctrl_known = file_mentions("/proc/filesystems", "resctrl");
    around.resctrl_mounted = file_mentions("/proc/mounts", " resctrl ");
    for (const auto& leftover : counters::resctrl::find_leftovers(counters::resctrl::usual_root))
        around.resctrl_leftovers.push_back(leftover.filename());
    around.offline_cpus = machine::parse_cpu_list(read_line("/sys/devices/system/cpu/offline"));
    for (const char* module : {"kvm_intel", "kvm_amd"})
        around.mediated_vpmu |= read_line(fmt::format("/sys/module/{}/parameters/enable_mediated_pmu", module)) == "Y";
    around.arm_user_access = read_line("/proc/sys/kernel/perf_user_access") == "1";
    return around;
}

}  // namespace tmaprobe::experiments
