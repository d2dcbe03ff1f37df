#include "experiments/setup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "counters/perf/perf.h"
#include "events/geometry.h"
#include "events/model_tree.h"
#include "events/nearest.h"
#include "experiments/calibration_file.h"
#include "experiments/count_warnings.h"
#include "experiments/measured_host.h"
#include "experiments/memory_here.h"
#include "judge/assess.h"
#include "machine/cores.h"
#include "machine/perf_access.h"
#include "machine/pmu_devices.h"
#include "model/mapping.h"

namespace tmaprobe::experiments {
namespace {

constexpr int deepest_level = 6;

template <class Key>
double count_distinct(const machine::Topology& topology, Key key) {
    std::set<int> seen;
    for (const auto& place : topology.cpus) seen.insert(key(place));
    return static_cast<double>(seen.size());
}

/// Deepest level of the tree that a table has.
int levels_of(const events::Table& table) {
    int level = 0;
    for (const auto& metric : table.metrics) level = std::max(level, metric.level);
    return level;
}

/// Arm's formulas ask how many slots a cycle has; the kernel says so for its own CPU.
double slots_per_cycle() {
    for (const char* pmu : {"armv8_pmuv3_0", "armv8_pmuv3"}) {
        const std::string text = read_line(std::string("/sys/bus/event_source/devices/") + pmu + "/caps/slots");
        if (!text.empty()) return static_cast<double>(std::strtoul(text.c_str(), nullptr, 0));
    }
    return 0;
}

record::Warning no_table(const machine::Host& host) {
    return {"no_table", fmt::format("no event table for this CPU ({})", host.cpu_id),
            "name one that is alike with --target (tmaprobe list targets), or bring a table with --events"};
}

/// A CPU that no table has: nothing says which numbers its counters have.
machine::Host without_table(machine::Host host) {
    host.pmu = {false,
                fmt::format("no event table has this CPU ({})", host.cpu_id),
                "bring a table with --events, or name the CPU that it is with --target (tmaprobe list targets)",
                {}};
    return host;
}

std::string words_of(const events::OtherCore& other) {
    const auto& features = other.features;
    const std::size_t shown = std::min<std::size_t>(2, features.size());
    std::string words = fmt::format("{}", fmt::join(features | std::views::take(shown), ", "));
    if (features.size() > shown) words += fmt::format(" and {} more features", features.size() - shown);
    return words;
}

/// By what the target is this machine's CPU.
enum class NamedBy { nothing, id, features };

/// `target`: its table, if there is one. Features name a core where they contradict the id and nothing counts: what
/// counters count is not known better than by the id.
Result<NamedBy> named_by(const CountingRequest& request, const machine::Host& host,
                         const Result<events::Table>& target) {
    if (request.target.empty() || request.target == host.cpu_id) return NamedBy::id;
    const auto own = events::load(request.library, host.cpu_id);
    if (!target || !own) return NamedBy::nothing;
    if (target->folder == own->folder) return NamedBy::id;
    if (host.pmu.counts || request.library.directory) return NamedBy::nothing;
    const bool fits = TRY(events::folder_by_features(request.library, own->folder, host)) == target->folder;
    return fits ? NamedBy::features : NamedBy::nothing;
}

/// Where the CPU's features contradict its id, the model takes the core that they fit; what counters count there is not
/// known better than by the id.
Result<> check_core_of_id(const CountingRequest& request, const std::string& target, Setup& setup,
                          events::Table& table) {
    if (request.library.directory) return {};
    const auto other = TRY(events::other_core_than_named(request.library, table, setup.host));
    if (!other) return {};
    const std::string contradiction =
        fmt::format("this CPU's id ({}) names a {}, but it has {}, which that core has not", target, other->named_title,
                    words_of(*other));
    const std::string by_id = fmt::format("--target {} is the one of the id", table.folder);
    const std::string hint =
        request.target.empty() ? fmt::format("--target {} names the core; {}", other->folder, by_id) : by_id;
    if (setup.decision.counts()) {
        setup.warnings.push_back(
            {"id_contradicted", contradiction + "; the events are counted as the id says: they may be others", hint});
        return {};
    }
    setup.warnings.push_back({"id_contradicted",
                              fmt::format("{}: {} ({}) is modelled, the nearest core in features and caches",
                                          contradiction, other->title, other->folder),
                              hint});
    table = TRY(events::load(request.library, other->folder));
    return {};
}

/// What the model is to know of this machine.
Result<> take_machine(const CalibrationChoice& choice, Setup& setup) {
    auto found = TRY(find_calibration(choice, setup.host));
    setup.machine.calibration = std::move(found.calibration);
    if (!setup.host.hypervisor.empty()) setup.machine.virtual_cpus = setup.host.logical_cpus;
    setup.machine.are_siblings = setup.host.smt_active;
    if (choice.use && choice.measure_memory_here && !setup.machine.calibration && setup.machine.virtual_cpus > 0 &&
        !setup.host.is_emulated) {
        const MemoryHere here = memory_here(setup.host, choice.interrupted);
        setup.machine.third_level = here.third_level;
        setup.machine.large_page_walk = here.large_page_walk;
    }
    if (found.warning) setup.warnings.push_back(std::move(*found.warning));
    return {};
}

/// Before Ice Lake the slots belong to a core, and SMT shares them between two CPUs: what is seen of one is
/// an estimate, and the reader must know.
void add_shared_core_warning(const counters::Scope& scope, const events::Table& table, Setup& setup) {
    const bool estimates = std::any_of(table.events.begin(), table.events.end(), [](const auto& event) {
        return event.name == "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE";
    });
    if (!estimates || !setup.host.smt_active || setup.constants.values["#core_wide"] >= 1) return;
    const auto why = machine::problem_of(machine::PerfCause::smt_shared_core, machine::detect_perf_access());
    if (scope.kind != counters::Scope::Kind::cpus) {
        setup.warnings.push_back({text_of(why.cause), why.what, why.hint});
        return;
    }
    auto whole = scope.cpus;
    const auto missing = machine::missing_siblings(setup.topology, scope.cpus);
    whole.insert(whole.end(), missing.begin(), missing.end());
    std::sort(whole.begin(), whole.end());
    setup.warnings.push_back({"smt_partial_core",
                              fmt::format("CPUs {} share cores with CPUs {}, which are not counted. {}",
                                          fmt::join(scope.cpus, ","), fmt::join(missing, ","), why.what),
                              fmt::format("--cpu {} counts whole cores", fmt::join(whole, ","))});
}

/// Where this machine hides PERF_METRICS, other formulas stand in; where slots are shared, that is said.
Result<> adapt_to_pmu(const events::Library& library, const counters::Scope& scope, events::Table& table,
                      Setup& setup) {
    const auto pmus = machine::core_pmus();
    const bool there = std::any_of(pmus.begin(), pmus.end(),
                                   [](const auto& pmu) { return pmu.has_slots && counters::perf::slots_open(pmu); });
    if (!pmus.empty() && !there) {
        const auto replaced = TRY(events::use_formulas_without_perf_metrics(library, table));
        if (replaced)
            setup.warnings.push_back(
                {"no_perf_metrics",
                 "this machine hides PERF_METRICS: the tree comes from formulas on ordinary counters",
                 "a hypervisor may offer it (QEMU: -cpu host with a recent KVM)"});
    }
    if (!pmus.empty()) add_shared_core_warning(scope, table, setup);
    return {};
}

/// Where somebody else holds all counters that the tree needs, the PMU does not count for us: the cause, before
/// anything is started. Nothing where a metric of the tree can be counted, or where the real path meets an error.
/// Keeps what the PMUs can hold in `setup`.
std::optional<machine::PmuPresence> no_counter_free(const CountingRequest& request, Setup& setup,
                                                    const events::Table& of_target) {
    using enum SourceChoice;
    const bool wants_counters =
        request.source == automatic || request.source == perf || request.source == perf_and_model;
    if (!wants_counters || !setup.host.pmu.counts) return std::nullopt;
    setup.pmu_limits = counters::perf::probe_limits();
    const auto& limits = setup.pmu_limits;
    if (std::ranges::none_of(limits, [](const auto& pmu) { return pmu.taken_counters > 0; })) return std::nullopt;
    Setup scratch = setup;
    events::Table table = of_target;
    if (!adapt_to_pmu(request.library, request.scope, table, scratch)) return std::nullopt;
    auto names = judge::choose_metrics(table, request.level, request.metrics);
    if (!names) return std::nullopt;
    std::vector<std::string> tree;
    for (const auto& metric : table.metrics)
        if (metric.level > 0 && std::ranges::find(*names, metric.name) != names->end()) tree.push_back(metric.name);
    const auto& wanted = tree.empty() ? *names : tree;
    if (wanted.empty() || limits.empty()) return std::nullopt;
    const auto possible = counters::countable(table, wanted, limits, scratch.constants);
    if (!possible || !possible->empty()) return std::nullopt;
    const auto why = counters_held(setup.host);
    return machine::PmuPresence{false, why.what, why.hint, why.cause};
}

/// Whose tree the table has, as the record says it.
record::TreeOwner tree_owner_of(const events::Table& table) {
    if (events::has_model_tree(table) || events::has_estimated_tree(table)) return record::TreeOwner::tmaprobe;
    return events::has_tree(table) ? record::TreeOwner::vendor : record::TreeOwner::none;
}

/// Of a tree that was asked for: that there is none, or less of it.
void warn_of_missing_levels(const CountingRequest& request, const events::Table& table,
                            std::vector<record::Warning>& warnings) {
    const int deepest = levels_of(table);
    if (events::has_estimated_tree(table))
        warnings.push_back(
            {"own_tree",
             table.title +
                 ": the vendor publishes no top-down tree for this CPU; this one is tmaprobe's own, and approximate",
             "low..high hold what this CPU's events cannot tell apart"});
    else if (deepest == 0)
        warnings.push_back(
            {"no_tree", table.title + ": the vendor publishes no top-down tree for this CPU",
             "what every CPU counts is shown instead: instructions per cycle, misses of branches and caches"});
    else if (request.level > deepest)
        warnings.push_back({"level_not_published",
                            events::has_model_tree(table)
                                ? fmt::format("the model's own tree has levels 1 to {}", deepest)
                                : fmt::format("{}: the vendor publishes levels 1 to {}", table.title, deepest),
                            {}});
}

}  // namespace

metrics::Constants machine_constants(const machine::Host& host, const machine::Topology& topology,
                                     const counters::Scope& scope) {
    metrics::Constants constants;
    constants.cpu_id = host.cpu_id;
    auto& values = constants.values;
    values["#smt_on"] = host.smt_active;
    // A thread that has its core to itself sees all of it: then the whole core's formulas hold. So they do
    // where every CPU of each counted core is counted, as in perf.
    values["#core_wide"] = !host.smt_active || (scope.kind == counters::Scope::Kind::cpus &&
                                                machine::missing_siblings(topology, scope.cpus).empty());
    values["#num_cpus"] = host.logical_cpus;
    values["#num_cpus_online"] = host.logical_cpus;
    values["#num_cores"] = count_distinct(topology, [](const auto& place) { return place.core; });
    values["#num_packages"] = count_distinct(topology, [](const auto& place) { return place.package; });
    values["#num_dies"] = values["#num_packages"];
    values["#system_tsc_freq"] = host.tsc_hz;
    values["#has_pmem"] = 0;
    values["#slots"] = slots_per_cycle();
    return constants;
}

Result<Setup> set_up(const CountingRequest& request, const machine::Host& host, const machine::Topology& topology) {
    if (request.level < 1 || request.level > deepest_level)
        return fail(ErrorCode::bad_usage, fmt::format("level {} does not exist", request.level),
                    fmt::format("levels are 1 to {}", deepest_level));

    Setup setup;
    setup.level = request.level;
    setup.cpu_sums = request.detail.apart             ? CpuSums::thread
                     : !request.detail.groups.empty() ? CpuSums::cgroup
                                                      : request.cpu_sums;
    if (setup.cpu_sums == CpuSums::cgroup) setup.cgroups = request.detail.cgroups;
    setup.host = events::complete_geometry(host, request.library);
    setup.topology = topology;
    setup.constants = machine_constants(host, topology, request.scope);

    std::string target = request.target.empty() ? host.cpu_id : request.target;
    auto table = events::load(request.library, target);
    const NamedBy by = TRY(named_by(request, setup.host, table));
    const bool target_is_host = by != NamedBy::nothing;
    if (by == NamedBy::features) {
        target = host.cpu_id;  // as if none had been named: check_core_of_id() comes to the same core
        table = events::load(request.library, target);
    }
    const bool is_told = !request.target.empty() && by != NamedBy::features;
    const bool unknown_host = !table && !is_told && table.error().code == ErrorCode::bad_usage;
    if (!table && !unknown_host) return pass_on(table);

    machine::Host as_seen = unknown_host ? without_table(host) : host;
    setup.target_is_host = target_is_host;
    if (table && target_is_host) {
        table->cpu_id = host.cpu_id;  // though it was named by the folder of its tables
        if (auto held = no_counter_free(request, setup, *table)) as_seen.pmu = std::move(*held);
    }
    // A kernel is there for its tree; of what is watched, what the kernel names itself is worth having.
    const bool watched = request.scope.kind != counters::Scope::Kind::this_thread;
    if (unknown_host && watched && host.pmu.counts && request.source == SourceChoice::perf)
        setup.decision = {
            {SourceChoice::none}, "no event table has this CPU: what the kernel names itself is counted", {}, true};
    else
        setup.decision = TRY(decide_source(request, as_seen, target_is_host));
    log::info("CPU {} ({}), {}", host.cpu_id, host.cpu_model,
              host.pmu.counts ? "its PMU counts" : "no PMU that counts: " + host.pmu.reason);
    log::info("target {}, tables {}; chosen because {}", target, table ? table->folder : "none", setup.decision.why);
    if (unknown_host) {
        if (setup.decision.has_none()) {
            if (request.source != SourceChoice::none) setup.warnings.push_back(no_table(host));
            return setup;
        }
        auto stand_in = TRY(events::stand_in_for(request.library, setup.host));
        setup.decision.why += fmt::format("; {} ({}) stands in, {}: a guess", stand_in.table.title,
                                          stand_in.table.folder, stand_in.nearest.why);
        table = std::move(stand_in.table);
    }

    if (!unknown_host && !is_told && !setup.decision.has_none()) TRY(check_core_of_id(request, target, setup, *table));

    const bool models = std::ranges::find(setup.decision.sources, SourceChoice::model) != setup.decision.sources.end();
    if (target_is_host && models) TRY(take_machine(request.calibration, setup));

    if (!target_is_host || setup.decision.only_models()) {
        // A modelled core runs one thread and is looked at alone.
        setup.constants.values["#smt_on"] = 0;
        setup.constants.values["#core_wide"] = 0;
        setup.constants.cpu_id = table->cpu_id;
    }
    if (!setup.decision.only_models() && target_is_host) {
        TRY(adapt_to_pmu(request.library, request.scope, *table, setup));
    }
    // The project's own estimates are made of counts; a model knows its slots itself.
    if (!setup.decision.counts()) events::remove_own_estimates(*table);
    if (!events::has_tree(*table) && setup.decision.only_models()) {
        TRY(events::add_model_tree(request.library, *table));
    }
    std::vector<std::string> further = request.metrics;
    for (const std::string& below : events::below_model_tree(*table)) further.push_back(below);
    auto metrics = TRY(judge::choose_metrics(*table, request.level, further));
    setup.metrics = std::move(metrics);
    log::detail("metrics: {}", fmt::join(setup.metrics, ", "));
    if (!setup.decision.has_none()) warn_of_missing_levels(request, *table, setup.warnings);
    setup.levels_to_be_had = deepest_level;
    if (setup.decision.only_models()) {
        const auto levels = model::levels_modelled(request.library, *table, setup.constants);
        if (levels) setup.levels_to_be_had = *levels;
    }
    setup.table = std::move(*table);
    return setup;
}

std::map<std::string, int> deeper_levels(const events::Table& table, int shown) {
    std::map<std::string, int> deeper;
    for (const auto& child : table.metrics) {
        if (child.level <= shown || child.parent.empty()) continue;
        const auto parent = std::find_if(table.metrics.begin(), table.metrics.end(),
                                         [&](const auto& metric) { return metric.name == child.parent; });
        if (parent == table.metrics.end() || parent->level < 1 || parent->level > shown) continue;
        const auto [known, is_new] = deeper.try_emplace(child.parent, child.level);
        if (!is_new) known->second = std::min(known->second, child.level);
    }
    return deeper;
}

record::Record start_record(const std::string& command_line, const Setup& setup) {
    record::Record record;
    record.command_line = command_line;
    record.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                 fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    record.host = measured_host(setup.host);
    record.warnings = setup.warnings;
    if (setup.host.is_emulated)
        record.warnings.push_back({"emulated",
                                   "this machine is emulated in software (QEMU TCG): its times are the emulator's and "
                                   "say nothing about a CPU",
                                   "measure on hardware, or with hardware virtualisation"});
    record.extra.why_source = setup.decision.why;
    record.extra.source_hint = setup.decision.hint;
    record.extra.source_asked_for = setup.decision.asked_for;
    record.extra.level = setup.level;
    // Where the model has no counterparts for the events of deeper levels, they are not worth a try.
    if (setup.table && setup.level < setup.levels_to_be_had)
        record.extra.deeper = deeper_levels(*setup.table, setup.level);
    if (setup.table)
        record.extra.table = record::UsedTable{setup.table->folder, setup.table->title, setup.table->source,
                                               tree_owner_of(*setup.table)};
    return record;
}

}  // namespace tmaprobe::experiments
