#include "counters/perf/counter_set.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <numeric>

#include "base/log.h"
#include "counters/perf/attributes.h"
#include "counters/perf/clock_events.h"
#include "counters/perf/errors.h"
#include "counters/perf/libperf.h"
#include "counters/perf/page_time.h"
#include "machine/event_sources.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {
namespace {

using CpuMap = std::unique_ptr<perf_cpu_map, decltype(&perf_cpu_map__put)>;
using ThreadMap = std::unique_ptr<perf_thread_map, decltype(&perf_thread_map__put)>;

int say_nothing(libperf_print_level, const char*, va_list) { return 0; }

/// libperf learns the page size here, which its mappings need.
void initialise_library() {
    static std::once_flag once;
    std::call_once(once, [] { libperf_init(say_nothing); });
}

CpuMap make_cpu_map(const std::vector<int>& cpus) {
    std::string list;
    for (const int cpu : cpus) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return {perf_cpu_map__new(list.c_str()), perf_cpu_map__put};
}

/// The wanted CPUs on which the event's PMU counts.
std::vector<int> cpus_of(const PlannedEvent& event, const std::vector<int>& wanted,
                         const std::vector<machine::Pmu>& pmus) {
    const machine::Pmu* pmu = core_of(event, pmus);
    if (!pmu || pmu->cpus.empty() || wanted == std::vector<int>{-1}) return wanted;
    std::vector<int> both;
    for (const int cpu : wanted)
        if (std::find(pmu->cpus.begin(), pmu->cpus.end(), cpu) != pmu->cpus.end()) both.push_back(cpu);
    return both;
}

/// Whose counts an event's PMU gives that counts no tasks: those of the machine, from the CPUs that the driver names.
/// Nothing for other PMUs.
std::optional<CountingTarget> machine_wide_target(const PlannedEvent& event, const std::vector<machine::Pmu>& pmus) {
    const std::string& pmu = event.definition.pmu;
    if (pmu.empty() || is_software(event) || std::ranges::find(pmus, pmu, &machine::Pmu::name) != pmus.end()) return {};
    CountingTarget target;
    target.threads = {-1};
    target.cpus = machine::system_wide_cpus(pmu);
    target.kernel = true;  // such a PMU knows no privilege levels, and refuses to leave any out
    return target.cpus.empty() ? std::nullopt : std::optional(target);
}

}  // namespace

Instances instances_of(const PlannedEvent& event, const CountingTarget& target, const std::vector<machine::Pmu>& pmus) {
    if (is_clock_event(event)) return {};
    if (const auto whole = machine_wide_target(event, pmus)) return {whole->cpus, whole->threads};
    return {cpus_of(event, target.cpus, pmus), target.threads};
}

namespace {

/// libperf opens without PERF_FLAG_FD_CLOEXEC and tells nobody the descriptors, so they are found by what
/// they are. A program that is started later must not hold our counters open.
void close_on_exec() {
    std::error_code ended;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ended)) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone).string().find("[perf_event]") == std::string::npos)
            continue;
        const std::string name = entry.path().filename();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
}

/// Errors that no other event of the pass would escape.
bool is_hopeless(int error) { return error == EMFILE || error == ENFILE || error == ESRCH || error == ENOMEM; }

/// Errors that a group gives when it cannot hold one more event, while the event alone may be fine.
bool may_be_group(int error) { return error == EINVAL || error == ENOSPC; }

}  // namespace

void log_open(const PlannedEvent& event, const perf_event_attr& attributes, bool is_leader, int error) {
    log::detail(
        "perf_event_open {} ({}) type {} config {:#x} config1 {:#x} config2 {:#x} exclude_user {} "
        "exclude_kernel {} inherit {} disabled {} enable_on_exec {} {}: {}",
        event.name, event.definition.pmu, attributes.type, attributes.config, attributes.config1, attributes.config2,
        +attributes.exclude_user, +attributes.exclude_kernel, +attributes.inherit, +attributes.disabled,
        +attributes.enable_on_exec, is_leader ? "leader" : "member", error == 0 ? "open" : std::strerror(error));
}

/// One scheduling group: its libperf list and the maps it was opened with.
struct CounterSet::Evlist {
    perf_evlist* list = perf_evlist__new();
    CpuMap cpus{nullptr, perf_cpu_map__put};  ///< null: any CPU
    ThreadMap threads{nullptr, perf_thread_map__put};
    perf_evsel* leader = nullptr;
    bool system_wide = false;  ///< of a PMU that counts no tasks

    Evlist() = default;
    Evlist(const Evlist&) = delete;
    Evlist& operator=(const Evlist&) = delete;
    ~Evlist() {
        if (!list) return;
        perf_evsel* event = nullptr;
        perf_evlist__for_each_evsel(list, event) perf_evsel__munmap(event);
        perf_evlist__delete(list);
    }
};

/// One open event; `event` null: it could not be opened.
struct CounterSet::Member {
    perf_evsel* event = nullptr;
    Evlist* list = nullptr;
    int cpus = 0, threads = 0;
    std::size_t first = 0;  ///< of its counts in what read() fills in
    bool software = false, mapped = false;
};

CounterSet::CounterSet() = default;
CounterSet::CounterSet(CounterSet&&) noexcept = default;
CounterSet& CounterSet::operator=(CounterSet&&) noexcept = default;
CounterSet::~CounterSet() = default;

int CounterSet::open_member(Evlist& list, std::size_t position, const PlannedEvent& event, const CountingTarget& target,
                            const std::vector<machine::Pmu>& pmus) {
    const bool is_leader = list.leader == nullptr;
    auto attributes = make_attributes(event, target, is_leader, pmus);
    if (!attributes) return ENOENT;
    if (is_leader && target.cpus != std::vector<int>{-1}) {
        const auto cpus = cpus_of(event, target.cpus, pmus);
        if (cpus.empty()) {
            layout_.places[position].elsewhere = true;
            return ENODEV;
        }
        list.cpus = make_cpu_map(cpus);
        if (!list.cpus) return ENOMEM;
    }
    int error = 0;
    for (int attempt = 0; attempt < 8; ++attempt) {
        perf_evsel* handle = perf_evsel__new(&*attributes);
        if (!handle) return ENOMEM;
        perf_evlist__add(list.list, handle);
        perf_evlist__set_leader(list.list);
        error = -perf_evsel__open(handle, list.cpus.get(), list.threads.get());
        log_open(event, *attributes, is_leader, error);
        if (error == 0) {
            Member& member = members_[position];
            member.event = handle;
            member.list = &list;
            member.cpus = list.cpus ? perf_cpu_map__nr(list.cpus.get()) : 1;
            member.threads = perf_thread_map__nr(list.threads.get());
            member.first = instances_;
            instances_ += static_cast<std::size_t>(member.cpus) * static_cast<std::size_t>(member.threads);
            member.software = is_software(event);
            member.mapped =
                target.user_space_reads && !member.software && !event.metric_only && perf_evsel__mmap(handle, 0) == 0;
            if (is_leader) list.leader = handle;
            return 0;
        }
        perf_evlist__remove(list.list, handle);
        perf_evsel__delete(handle);
        const bool only_kernel_refused = (error == EACCES || error == EPERM) && is_software(event) &&
                                         !needs_kernel(event) && !attributes->exclude_kernel;
        // While a host lends its counters to virtual machines (a mediated vPMU), it takes no event that counts in them.
        const bool guests_refused =
            error == EOPNOTSUPP && !is_software(event) && !attributes->exclude_guest && !attributes->exclude_host;
        if (guests_refused) {
            attributes->exclude_guest = 1;
            layout_.opened[position].without_guests = true;
        } else if (only_kernel_refused)
            attributes->exclude_kernel = attributes->exclude_hv = 1;
        else if (error != EINTR)
            break;
    }
    return error;
}

const std::vector<machine::Pmu>& known_core_pmus() {
    static const std::vector<machine::Pmu> known = machine::core_pmus();
    return known;
}

Result<CounterSet> CounterSet::open(const std::vector<EventGroup>& groups, const CountingTarget& target) {
    std::vector<std::size_t> all(groups.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return open_some(groups, target, all);
}

Result<CounterSet> CounterSet::open_some(const std::vector<EventGroup>& groups, const CountingTarget& target,
                                         const std::vector<std::size_t>& chosen) {
    initialise_library();
    CounterSet set;
    set.more_open_files_ = std::make_unique<MoreOpenFiles>();
    const auto& pmus = known_core_pmus();
    const auto new_list = [&](const CountingTarget& of) -> Evlist* {
        auto list = std::make_unique<Evlist>();
        auto threads = of.threads;
        list->threads.reset(perf_thread_map__new_array(static_cast<int>(threads.size()), threads.data()));
        list->system_wide = &of != &target;
        if (!list->list || !list->threads) return nullptr;
        set.lists_.push_back(std::move(list));
        return set.lists_.back().get();
    };
    const auto out_of_memory = [] { return fail(ErrorCode::system, "out of memory for counters"); };

    for (std::size_t group = 0; group < groups.size(); ++group) {
        std::optional<CountingTarget> machine_wide;
        if (!groups[group].events.empty()) machine_wide = machine_wide_target(groups[group].events.front(), pmus);
        const CountingTarget& whose = machine_wide ? *machine_wide : target;
        const bool wanted = std::ranges::find(chosen, group) != chosen.end();
        Evlist* list = wanted ? new_list(whose) : nullptr;
        if (wanted && !list) return out_of_memory();
        for (std::size_t index = 0; index < groups[group].events.size(); ++index) {
            const auto& event = groups[group].events[index];
            set.layout_.opened.push_back({group, index, 0, false});
            set.layout_.places.push_back({});
            set.members_.push_back({});
            const std::size_t position = set.members_.size() - 1;
            OpenedEvent& opened = set.layout_.opened.back();
            if (!wanted || is_clock_event(event)) continue;  // the latter have no counter of the kernel's
            opened.error = set.open_member(*list, position, event, whose, pmus);
            if (may_be_group(opened.error) && list->leader && !event.metric_only) {
                Evlist* own = new_list(whose);
                if (!own) return out_of_memory();
                opened.error = set.open_member(*own, position, event, whose, pmus);
                opened.moved = opened.error == 0;
            }
            if (is_hopeless(opened.error)) return explain_open(opened.error, event, whose);
        }
    }
    for (std::size_t position = 0; position < set.members_.size(); ++position)
        if (set.members_[position].event) set.layout_.places[position] = set.place_of(set.members_[position]);
    close_on_exec();
    return set;
}

bool CounterSet::any_open() const {
    return std::ranges::any_of(opened(), [](const auto& event) { return event.error == 0; });
}

bool CounterSet::reads_in_user_space() const {
    bool any = false;
    for (const auto& member : members_) {
        if (!member.event || member.software) continue;
        if (!member.mapped) return false;
        const auto* page = static_cast<const perf_event_mmap_page*>(perf_evsel__mmap_base(member.event, 0, 0));
        if (!page || !page->cap_user_rdpmc || page->index == 0) return false;
        any = true;
    }
    return any && enabled_now();
}

std::optional<std::uint64_t> CounterSet::enabled_now() const {
    for (const auto& member : members_)
        if (member.mapped)
            if (const void* page = perf_evsel__mmap_base(member.event, 0, 0))
                return enabled_time(*static_cast<const perf_event_mmap_page*>(page));
    return std::nullopt;
}

Result<> CounterSet::enable() {
    for (const auto& list : lists_)
        if (list->leader && perf_evsel__enable(list->leader) != 0)
            return fail_errno(errno, "cannot start the counters");
    return {};
}

Result<> CounterSet::enable_system_wide() {
    for (const auto& list : lists_)
        if (list->system_wide && list->leader && perf_evsel__enable(list->leader) != 0)
            return fail_errno(errno, "cannot start the counters");
    return {};
}

Result<> CounterSet::disable() {
    int error = 0;
    for (const auto& list : lists_)
        if (list->leader && perf_evsel__disable(list->leader) != 0) error = errno;
    if (error) return fail_errno(error, "cannot stop the counters");
    return {};
}

Place CounterSet::place_of(const Member& member) const {
    Place place{member.first, static_cast<std::size_t>(member.cpus) * static_cast<std::size_t>(member.threads)};
    for (int index = 0; index < member.threads; ++index)
        place.threads.push_back(perf_thread_map__pid(member.list->threads.get(), index));
    if (member.list->cpus)
        for (int index = 0; index < member.cpus; ++index)
            place.cpus.push_back(perf_cpu_map__cpu(member.list->cpus.get(), index).cpu);
    return place;
}

void CounterSet::read_kind(std::vector<RawCount>& counts, bool software) const {
    for (const Member& member : members_) {
        if (!member.event || member.software != software) continue;
        RawCount* count = &counts[member.first];
        for (int cpu = 0; cpu < member.cpus; ++cpu)
            for (int thread = 0; thread < member.threads; ++thread, ++count) {
                perf_counts_values values;
                // At end of file libperf returns -errno, whatever errno was; with 0 it looks like success.
                errno = 0;
                const int result = perf_evsel__read(member.event, cpu, thread, &values);
                *count = {values.val, values.ena, values.run, -result, false};
                if (result == 0) count->end_of_file = !values.val && !values.ena && !values.run;
            }
    }
}

void CounterSet::read(std::vector<RawCount>& counts, Order order) const {
    counts.resize(instances_);
    read_kind(counts, order == Order::software_first);
    read_kind(counts, order != Order::software_first);
}

}  // namespace tmaprobe::counters::perf
