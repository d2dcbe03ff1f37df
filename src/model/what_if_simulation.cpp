#include "model/what_if_simulation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "events/cpu_geometry.h"
#include "events/smt.h"
#include "model/memory_areas.h"
#include "model/modelled_cpu.h"
#include "model/speed_up.h"
#include "model/trace_code.h"
#include "model/trace_extensions.h"
#include "model/trace_file.h"
#include "model/trace_simulation.h"

namespace tmaprobe::model {
namespace {

using record::Change;
using Windows = std::vector<WindowFacts>;
using Changes = std::vector<Change>;

/// A CPU that a trace may be simulated on.
struct TraceTarget {
    std::string folder, title;
    ModelledCpu cpu;
};

/// Machines that are warmed alike, and simulated in one showing of the trace.
struct Job {
    std::vector<AlteredMachine> machines;
    std::vector<std::size_t> places;  ///< of the machines, in the order of all
};

/// Those that are warmed alike together, but spread over the threads.
std::vector<Job> jobs_of(const std::vector<AlteredMachine>& machines, unsigned threads) {
    std::map<std::pair<Changes, std::optional<std::size_t>>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < machines.size(); ++i)
        alike[{machines[i].warmed_with, machines[i].large_area}].push_back(i);
    std::vector<Job> jobs;
    for (const auto& [warmed_with, places] : alike) {
        const std::size_t parts = std::clamp<std::size_t>(places.size() / 4, 1, std::max(1u, threads));
        for (std::size_t part = 0; part < parts; ++part) {
            Job job;
            for (std::size_t i = part; i < places.size(); i += parts) {
                job.places.push_back(places[i]);
                job.machines.push_back(machines[places[i]]);
            }
            jobs.push_back(std::move(job));
        }
    }
    // The longest first: the others fill what is left.
    std::ranges::stable_sort(jobs, std::greater{}, [](const Job& job) { return job.machines.size(); });
    return jobs;
}

/// Calls `work` with each number below `count`, on so many threads; none is begun any more once one returned false.
template <class Work>
void on_threads(unsigned threads, std::size_t count, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto some = [&] {
        for (std::size_t i = next++; i < count; i = next++)
            if (!work(i)) next = count;
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(some);
    some();
}

/// The windows of each machine.
Result<std::vector<Windows>> simulate_all(const TraceFile& trace, const std::vector<AlteredMachine>& machines,
                                          unsigned threads) {
    const std::vector<Job> jobs = jobs_of(machines, threads);
    std::vector<Windows> found(machines.size());
    std::optional<Error> error;
    std::mutex guard;
    on_threads(threads, jobs.size(), [&](std::size_t number) {
        auto windows = simulate_trace(trace, jobs[number].machines, trace.header().architecture);
        const std::scoped_lock lock(guard);
        if (!windows) {
            error = windows.error();
            return false;
        }
        for (std::size_t i = 0; i < windows->size(); ++i) found[jobs[number].places[i]] = std::move((*windows)[i]);
        return true;
    });
    if (error) return tl::unexpected<Error>(*error);
    return found;
}

/// The windows of a moment, as one.
WindowFacts facts_of(const TraceMoment& moment, const Windows& windows) {
    WindowFacts sum;
    for (const std::uint32_t number : moment.windows) {
        if (number >= windows.size()) continue;
        if (sum.base.empty())
            sum = windows[number];
        else
            merge(sum, windows[number]);
    }
    return sum;
}

/// What of a window is in the region that was asked about, as if there were nothing else.
WindowFacts in_region(const WindowFacts& window) {
    const auto part = [](const std::vector<RegionFacts>& regions) {
        const auto found = std::ranges::find(regions, TraceFile::in_region, &RegionFacts::path);
        return found == regions.end() ? Facts{} : found->facts;
    };
    WindowFacts inside;
    inside.base = part(window.regions);
    for (const FactVariation& variation : window.variations)
        inside.variations.push_back({variation.what, part(variation.regions), {}, {}, {}});
    return inside;
}

/// All moments before and after a change; `whole`: of whole windows, else what the region has of them.
std::vector<ComparedMoment> compared(const TraceFile& trace, const Windows& before, const Windows& after,
                                     bool whole = true) {
    std::vector<ComparedMoment> moments;
    for (const TraceMoment& moment : trace.moments()) {
        ComparedMoment one{moment.stands_for, facts_of(moment, before), facts_of(moment, after)};
        if (!whole) {
            const double cycles = cycles_of(one.before.base);
            one = {one.stands_for, in_region(one.before), in_region(one.after)};
            if (cycles_of(one.before.base) <= 0) continue;
            // Of the moment's time, the region's.
            one.stands_for *= cycles_of(one.before.base) / cycles;
        }
        if (!trace.weighted()) one.stands_for = cycles_of(one.before.base);
        moments.push_back(std::move(one));
    }
    return moments;
}

/// Shares of all slots after the change, each moment with the time that it then takes.
record::CauseSlots slots_of(const std::vector<ComparedMoment>& moments) {
    record::CauseSlots shares;
    double all = 0;
    for (const ComparedMoment& moment : moments) {
        const double before = cycles_of(moment.before.base), after = cycles_of(moment.after.base);
        const double slots = value_of(moment.after.base, "slots");
        if (before <= 0 || after <= 0 || slots <= 0) continue;
        const double time = moment.stands_for * after / before;
        all += time;
        for (const auto& [cause, name] : Names<record::SlotCause>::values)
            if (const double lost = value_of(moment.after.base, "slots_by_cause_" + std::string(name)); lost > 0)
                shares[std::string(name)] += time * lost / slots;
    }
    for (auto& [cause, share] : shares) share /= all;
    return shares;
}

constexpr Change main_causes[] = {Change::perfect_l1, Change::no_tlb_misses, Change::no_mispredictions,
                                  Change::perfect_front_end, Change::no_failed_forwarding};
constexpr std::size_t main_count = std::size(main_causes), subsets = std::size_t{1} << main_count;

Changes subset_of(std::size_t bits) {
    Changes changes;
    for (std::size_t i = 0; i < main_count; ++i)
        if (bits >> i & 1) changes.push_back(main_causes[i]);
    return changes;
}

/// Shapley values: what each cause wins when it is removed after some of the others, on average over all orders.
std::vector<record::CauseShare> shares_of(const std::array<double, subsets>& won) {
    std::vector<record::CauseShare> shares;
    const auto factorial = [](std::size_t n) {
        double product = 1;
        for (std::size_t i = 2; i <= n; ++i) product *= static_cast<double>(i);
        return product;
    };
    for (std::size_t cause = 0; cause < main_count; ++cause) {
        double share = 0;
        for (std::size_t set = 0; set < subsets; ++set) {
            if (set >> cause & 1) continue;
            const auto size = static_cast<std::size_t>(std::popcount(set));
            share += factorial(size) * factorial(main_count - 1 - size) / factorial(main_count) *
                     (won[set | std::size_t{1} << cause] - won[set]);
        }
        shares.push_back({main_causes[cause], share});
    }
    std::ranges::stable_sort(shares, std::greater{}, &record::CauseShare::share);
    return shares;
}

record::WhatIf about(const TraceFile& trace) {
    record::WhatIf answer;
    answer.workload = trace.header().workload;
    answer.taken_on = trace.header().cpu_id;
    answer.trace_bytes = trace.bytes();
    answer.trace_instructions = trace.steps();
    return answer;
}

/// The CPUs of the trace's architecture that have a core model. Arm's ids are numbers.
Result<std::vector<TraceTarget>> all_targets(const events::Library& library, const std::string& architecture) {
    std::vector<TraceTarget> targets;
    for (const events::Target& target : TRY(events::known_targets(library))) {
        if (target.patterns.empty()) continue;
        const bool is_arm = target.patterns.front().starts_with("0x");
        if (is_arm != (architecture == "aarch64")) continue;
        const auto geometry = events::read_cpu_geometry(library, target.folder);
        if (!geometry || !geometry->core || geometry->core->llvm_cpu.empty()) continue;
        auto cpu = modelled_cpu(*geometry, target.folder, target.folder);
        if (!cpu) continue;
        cpu->core_error = TRY(events::read_core_error(library, target.folder));
        targets.push_back({target.folder, target.title, std::move(*cpu)});
    }
    return targets;
}

record::TargetSpeed speed_on(const TraceTarget& target, const TraceFile& trace, const ModelledCpu& cpu,
                             const Windows& own) {
    record::TargetSpeed speed;
    speed.folder = target.folder;
    speed.title = target.title;
    speed.frequency_hz = target.cpu.frequency_hz;
    const auto windows = simulate_trace(trace, {altered(target.cpu, WhatIfQuestion{})}, trace.header().architecture);
    if (!windows) {
        speed.unavailable = windows.error().what;
        return speed;
    }
    const auto moments = compared(trace, own, windows->front());
    const record::SpeedUp in_cycles = speed_up_of(moments, cpu.core_error, target.cpu.core_error);
    const double clocks = speed.frequency_hz / cpu.frequency_hz;
    speed.speed_up = {in_cycles.value * clocks, in_cycles.low * clocks, in_cycles.high * clocks};
    speed.cycles_ratio = 1 / in_cycles.value;
    double instructions = 0, unmodelled = 0;
    for (const ComparedMoment& moment : moments) {
        instructions += value_of(moment.after.base, "instructions");
        unmodelled += value_of(moment.after.base, "unmodelled");
    }
    if (instructions > 0) speed.unmodelled = unmodelled / instructions;
    return speed;
}

Result<std::vector<record::TargetSpeed>> compare_targets(const TraceFile& trace, const WhatIfCpu& what,
                                                         unsigned threads) {
    const std::string& architecture = trace.header().architecture;
    const ModelledCpu cpu = TRY(load_modelled_cpu(what.library, what.table));
    const auto targets = TRY(all_targets(what.library, architecture));
    const auto own = TRY(simulate_trace(trace, {altered(cpu, WhatIfQuestion{})}, architecture));
    std::vector<record::TargetSpeed> speeds(targets.size());
    on_threads(threads, targets.size(), [&](std::size_t i) {
        speeds[i] = speed_on(targets[i], trace, cpu, own.front());
        return true;
    });
    std::ranges::stable_sort(speeds, std::greater{}, [](const record::TargetSpeed& speed) {
        return speed.unavailable.empty() ? speed.speed_up.value : 0;
    });
    return speeds;
}

/// Shares of all slots that wait for what is in small pages, by area.
std::vector<double> waits_for(const TraceFile& trace, const MemoryAreas& areas, const Windows& windows) {
    std::vector<double> shares(areas.size(), 0);
    double all = 0;
    for (const TraceMoment& moment : trace.moments()) {
        const WindowFacts facts = facts_of(moment, windows);
        const double cycles = cycles_of(facts.base);
        if (cycles <= 0) continue;
        const double weight = trace.weighted() ? moment.stands_for / cycles : 1;
        all += weight * value_of(facts.base, "slots");
        for (const std::uint32_t number : moment.windows) {
            if (number >= windows.size()) continue;
            windows[number].accesses.for_each([&](const counters::AccessSlots::Access& access) {
                const auto area = access.in_huge_page ? std::nullopt : areas.at(moment.mappings, access.data);
                if (!area) return;
                for (const std::uint64_t slots : access.slots) shares[*area] += weight * static_cast<double>(slots);
            });
        }
    }
    for (double& share : shares) share = all > 0 ? share / all : 0;
    return shares;
}

/// Those that large pages may be worth something for, the most first, and no more than can be asked in the time.
std::vector<std::size_t> areas_worth_asking(const MemoryAreas& areas, const std::vector<double>& waits) {
    constexpr std::uint64_t least_bytes = 2u << 20;  // one large page
    constexpr double worth_asking = 0.01;
    constexpr std::size_t most = 4;
    std::vector<std::size_t> worth;
    for (std::size_t area = 0; area < areas.size(); ++area)
        if (waits[area] >= worth_asking && areas[area].bytes >= least_bytes) worth.push_back(area);
    std::ranges::stable_sort(worth, std::greater{}, [&](std::size_t area) { return waits[area]; });
    worth.resize(std::min(worth.size(), most));
    return worth;
}

/// Whether large pages for all of memory may win anything.
bool large_pages_win(const record::WhatIf& answer) {
    constexpr double worth_saying = 1.01;
    return std::ranges::any_of(answer.answers, [](const record::WhatIfAnswer& one) {
        return one.changes == Changes{Change::pages_2m} && one.speed_up.high >= worth_saying;
    });
}

Result<> ask_mappings(const TraceFile& trace, const ModelledCpu& cpu, const Windows& before, unsigned threads,
                      record::WhatIf& answer) {
    if (!large_pages_win(answer)) return {};
    if (trace.mappings().empty()) {
        answer.mappings_unknown = "the trace does not have them: it was taken by an older version";
        return {};
    }
    const MemoryAreas areas(trace.mappings());
    const auto waits = waits_for(trace, areas, before);
    const auto worth = areas_worth_asking(areas, waits);
    std::vector<AlteredMachine> machines;
    for (const std::size_t area : worth) {
        machines.push_back(altered(cpu, WhatIfQuestion{}));
        machines.back().large_area = area;
    }
    const auto windows = TRY(simulate_all(trace, machines, threads));
    for (std::size_t i = 0; i < worth.size(); ++i) {
        const MemoryArea& area = areas[worth[i]];
        answer.mappings.push_back({area.kind, area.path, area.zeroed, area.address, area.bytes, waits[worth[i]],
                                   speed_up_of(compared(trace, before, windows[i]), cpu.core_error)});
    }
    std::ranges::stable_sort(answer.mappings, std::greater{},
                             [](const record::MappingPages& one) { return one.speed_up.value; });
    return {};
}

/// What the trace uses that not every CPU has, and which targets lack it.
Result<> say_extensions(const TraceFile& trace, const events::Library& library, record::WhatIf& answer) {
    auto extensions = TRY(TraceExtensions::of(trace, library));
    answer.instruction_sets = extensions.all();
    answer.chosen_by_cpu = extensions.by_file();
    for (record::TargetSpeed& target : answer.targets)
        if (const auto geometry = events::read_cpu_geometry(library, target.folder); geometry && geometry->core)
            target.lacks = extensions.lacking(geometry->core->llvm_cpu);
    return {};
}

bool asks_for_sibling(const std::vector<WhatIfQuestion>& questions) {
    return std::ranges::any_of(questions, [](const WhatIfQuestion& question) {
        return std::ranges::find(question.changes, Change::busy_sibling) != question.changes.end();
    });
}

}  // namespace

Result<std::vector<TracedInstruction>> list_traced_instructions(const std::string& trace_file) {
    return executed_instructions(TRY(TraceFile::open(trace_file)));
}

Result<record::WhatIf> simulate_what_if(const std::string& trace_file, const WhatIfCpu& what,
                                        const WhatIfQuestions& questions, unsigned threads) {
    const TraceFile trace = TRY(TraceFile::open(trace_file));
    if (trace.moments().empty())
        return fail(ErrorCode::bad_input, "the trace has no window", "take it again, of something with more to do");
    const ModelledCpu cpu = TRY(load_modelled_cpu(what.library, what.table, what.machine));
    std::vector<events::SmtStructure> halved;
    if (asks_for_sibling(questions.answers)) halved = TRY(events::taken_by_sibling(what.library, what.table.folder));
    const bool whole = questions.region.empty();
    std::vector<AlteredMachine> machines{altered(cpu, WhatIfQuestion{})};
    machines.front().accesses = questions.mappings;
    for (const WhatIfQuestion& question : questions.answers) machines.push_back(altered(cpu, question, halved));
    if (questions.shares)
        for (std::size_t set = 1; set < subsets; ++set) {
            machines.push_back(altered(cpu, {subset_of(set), 0, {}, {}}));
            machines.back().varied = false;
        }
    for (AlteredMachine& machine : machines) machine.tells_region = !whole;
    const auto windows = TRY(simulate_all(trace, machines, threads));
    record::WhatIf answer = about(trace);
    answer.region = questions.region;
    const auto as_it_is = compared(trace, windows.front(), windows.front(), whole);
    if (as_it_is.empty())
        return fail(ErrorCode::unavailable, "no window of the model has an instruction of region " + questions.region,
                    "its name as the program marks it, or as --region has it; --effort takes more windows");
    answer.slots = slots_of(as_it_is);
    for (std::size_t i = 0; i < questions.answers.size(); ++i) {
        const WhatIfQuestion& asked = questions.answers[i];
        const auto moments = compared(trace, windows.front(), windows[1 + i], whole);
        answer.answers.push_back({asked.changes, asked.prefetch_distance, asked.code_name,
                                  speed_up_of(moments, cpu.core_error), slots_of(moments)});
    }
    if (questions.mappings) TRY(ask_mappings(trace, cpu, windows.front(), threads, answer));
    if (questions.shares) {
        std::array<double, subsets> won{};
        for (std::size_t set = 1; set < subsets; ++set) {
            const auto& after = windows[questions.answers.size() + set];
            won[set] = 1 - 1 / speed_up_of(compared(trace, windows.front(), after, whole), cpu.core_error).value;
        }
        answer.shares = shares_of(won);
    }
    if (questions.targets) {
        answer.targets = TRY(compare_targets(trace, what, threads));
        TRY(say_extensions(trace, what.library, answer));
    }
    return answer;
}

}  // namespace tmaprobe::model
