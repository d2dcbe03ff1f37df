#include "model/command_simulation.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/sizes.h"
#include "counters/marked_regions.h"
#include "model/region_sums.h"
#include "model/sampled_windows.h"
#include "model/software_events.h"
#include "model/sum_of_windows.h"
#include "model/trace_writer.h"
#include "process/held_command.h"
#include "process/running_threads.h"
#include "trace/snapshot_checks.h"

namespace tmaprobe::model {
namespace {

SamplingRequest request_for(const ModelOptions& options) {
    SamplingRequest request;
    request.limits.share *= options.effort;
    request.shortest_budget_ns *= options.effort;
    request.limits.first_after_ns =
        std::max(request.limits.first_after_ns, static_cast<std::uint64_t>(options.command_alone_ms) * 1'000'000);
    return request;
}

/// Those that say what is asked: of one region, with those of its entries.
std::vector<WindowFacts> windows_of_question(const SampledWindows& windows, const ModelledCpu& cpu,
                                             const ModelOptions& options) {
    std::vector<WindowFacts> all = windows.facts;
    if (options.attribute_in.empty() || windows.entries.empty()) return all;
    auto entries = windows.entries;
    append_entries(entries, seen_in_region(all, windows.region_paths, entries.front().region), cpu, all);
    return all;
}

Result<process::Helper> start_helper(const SamplingRequest& request, core::Core& core, trace::Decoder& decoder,
                                     const ModelledCpu& cpu, const ModelOptions& options) {
    return process::Helper::start([&](const process::HelperOrders& orders, const std::function<void()>& ready) {
        auto trace_file = trace_writer(options.trace);
        SamplingRequest logged = request;
        if (trace_file) logged.log = trace_file->get();
        auto windows = sample_windows(logged, core, decoder, cpu, options, orders, ready);
        if (!trace_file)
            windows.trace_problem = trace_file.error().what;
        else if (trace_file->get())
            windows.trace_problem = finish_trace(trace_file->get(), windows_of_question(windows, cpu, options), true);
        return to_text(windows);
    });
}

/// For as long as it ran, or three seconds, and a little for what is under way then.
std::int64_t patience_ns(double ran_ns, const ModelOptions& options) {
    constexpr double under_way_ns = 5e9, shortest_ns = 3e9;
    return static_cast<std::int64_t>(std::max(shortest_ns * options.effort, ran_ns) + under_way_ns);
}

/// What is wrong with a process that is looked at, as far as it can be seen from outside.
std::optional<record::Warning> found_idle(pid_t process) {
    switch (process::state_of(process)) {
        case process::ProcessState::stopped:
            return record::Warning{"nothing_traced",
                                   fmt::format("nothing is modelled: process {} is stopped (by a signal)", process),
                                   fmt::format("kill -CONT {} lets it go on; it was left as it is", process)};
        case process::ProcessState::traced:
            return record::Warning{
                "nothing_traced",
                fmt::format("nothing is modelled: process {} is traced by another (a debugger), and left to it",
                            process),
                "detach that first"};
        default:
            return std::nullopt;
    }
}

/// Why nothing is modelled, in words. `looked_at`: processes that ran already.
record::Warning nothing_modelled(const Modelled& modelled, const SampledWindows& windows,
                                 const std::vector<pid_t>& looked_at) {
    const auto& sampling = windows.sampling;
    // Of processes that ran already, what their descendants used, too: they are looked at as well.
    const double used_ns = looked_at.empty() ? modelled.processor_ns : sampling.processor_ns;
    const std::string took = format_ns(static_cast<double>(modelled.elapsed_ns)), used = format_ns(used_ns);
    for (const pid_t process : looked_at)
        if (auto idle = found_idle(process)) return *idle;
    if (!looked_at.empty() && sampling.pauses.copies == 0 && used_ns < 0.1 * static_cast<double>(modelled.elapsed_ns))
        return {"nothing_traced",
                fmt::format("nothing is modelled: in {} what was looked at used a CPU for {}; the rest it slept or "
                            "waited",
                            took, used),
                "look while it works, or for longer (--seconds)"};
    const char* const more = "give it more to do, or model even its first instructions with --source model";
    if (modelled.processor_ns > 0 && modelled.processor_ns < 0.1 * static_cast<double>(modelled.elapsed_ns))
        return {"nothing_traced",
                fmt::format("nothing is modelled: the command took {} and used a CPU for {} of it; the rest it waited",
                            took, used),
                "what a program waits for cannot be modelled: strace -f -c or perf trace shows what it is"};
    if (sampling.pauses.copies > 0) {
        const auto most = std::max_element(sampling.ended_early.begin(), sampling.ended_early.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return {"nothing_traced",
                fmt::format("nothing is modelled: none of the {} copies of it came to the end of a window{}{}",
                            sampling.pauses.copies,
                            most == sampling.ended_early.end() ? "" : ", mostly because of: " + most->first,
                            windows.error.empty() ? "" : " (" + windows.error + ")"),
                more};
    }
    if (!sampling.missed.empty()) {
        const auto most = std::max_element(sampling.missed.begin(), sampling.missed.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return {"nothing_traced",
                fmt::format("nothing is modelled: no copy of it could be made ({}{})", most->first,
                            windows.why_missed.empty() ? "" : ": " + windows.why_missed),
                "docs/no-pmu.md says what each reason means"};
    }
    return {"nothing_traced",
            fmt::format("nothing is modelled: {} {}, before {} first window",
                        looked_at.empty() ? "the command ended after" : "what was looked at was seen for", took,
                        looked_at.empty() ? "its" : "the"),
            looked_at.empty() ? more : "look for longer (--seconds)"};
}

RegionNames region_names(const RegionWish& wish, const std::optional<process::RegionPage>& page, pid_t command) {
    RegionNames names;
    for (const FunctionRegion& function : wish.functions) names.functions.push_back(function.name);
    if (page) names.marked = counters::marked_regions(*page, command);
    return names;
}

/// As long as the entries take that were modelled, and no more than the marks say, by whose clock what waits counts,
/// too.
ShareOfTime share_by_marks(std::uint32_t region, const RegionNames& names, const SampledWindows& windows,
                           const ModelledCpu& cpu, double processor_ns) {
    const auto& marked = names.marked.list;
    if (region >= marked.size() || !marked[region].totals || processor_ns <= 0) return {};
    const record::RegionTotals& totals = *marked[region].totals;
    if (totals.time_ns <= 0) return {};
    ShareOfTime share;
    share.all = share.high = std::min(1.0, totals.time_ns / processor_ns);
    std::map<std::uint32_t, double> entries;
    for (const EntryWindow& window : windows.entries)
        if (window.region == region) entries[window.entry] = window.entries;
    double counted = 0, modelled_ns = 0;
    for (const auto& [entry, stands_for] : entries) counted += stands_for;
    for (const WindowFacts& moment : moments_of(windows.entries, region, 0, cpu)) modelled_ns += moment.native_ns;
    if (counted > 0)
        share.all = std::min(share.all, modelled_ns / counted * static_cast<double>(totals.entries) / processor_ns);
    share.own = share.all * std::clamp(totals.own_ns / totals.time_ns, 0.0, 1.0);
    return share;
}

void add_windows(SampledWindows windows, const RegionNames& regions, const ModelledCpu& cpu,
                 const ModelOptions& options, Modelled& modelled) {
    modelled.traced.steps = windows.steps;
    modelled.traced.undecodable = windows.undecodable;
    modelled.traced.stepped_in_software = windows.in_software;
    modelled.warmed = windows.warmed;
    modelled.tracing_ns = windows.tracing_ns;
    modelled.simulating_ns = windows.simulating_ns;
    modelled.simulated_instructions = windows.simulated;
    modelled.translated = windows.translated;
    modelled.further_tasks = windows.tasks > 1 ? windows.tasks - 1 : 0;
    modelled.native_ns = static_cast<double>(modelled.elapsed_ns);
    add_trace_warning(windows.trace_problem, modelled);
    const auto& looks = windows.sampling;
    const LookedAt looked_at{looks.looks, looks.looks > 0 ? 1 - looks.looks_met / looks.looks : 0};
    if (options.regions.any())
        modelled.regions =
            sum_up_regions(regions,
                           {windows.facts, windows.entries, windows.region_paths, windows.seen_entries,
                            [&](std::uint32_t region) {
                                return share_by_marks(region, regions, windows, cpu, modelled.processor_ns);
                            }},
                           cpu, looked_at);
    if (windows.facts.empty()) {
        modelled.warnings.push_back(nothing_modelled(modelled, windows, options.processes));
    } else {
        sum_up(windows.facts, true, cpu, modelled, looked_at);
        if (options.attribute) {
            auto asked = windows_of_question(windows, cpu, options);
            Modelled weights;
            sum_up(asked, true, cpu, weights, looked_at);
            modelled.attribution = attribution_of(asked, true, cpu, weights);
            // Samples do not know of regions.
            if (options.attribute_in.empty()) modelled.attribution->samples = std::move(windows.samples);
        }
        std::map<std::string, std::size_t> known_wrong(windows.known_wrong.begin(), windows.known_wrong.end());
        add_model_warnings(known_wrong, windows.pages_partly_known, modelled);
        if (modelled.further_tasks)
            modelled.warnings.push_back(
                {"model_tasks",
                 fmt::format("{} further {} ran; each window is of one of those that were running, in proportion to "
                             "their processor time",
                             modelled.further_tasks,
                             modelled.further_tasks == 1 ? "thread or process" : "threads or processes"),
                 "threads are modelled one at a time, as if alone on the core and its caches"});
        const double in_kernel = windows.sampling.system_ns / std::max(1.0, windows.sampling.processor_ns);
        constexpr double worth_saying = 0.2;
        if (in_kernel > worth_saying)
            modelled.warnings.push_back(
                {"model_kernel",
                 fmt::format("{:.0f}% of the processor time was the kernel's own work (system calls, page faults), "
                             "which is not modelled: the tree is of the rest",
                             100 * in_kernel),
                 "fewer or larger system calls (batches, pipelining) take less of it"});
        constexpr double nearly_one = 1.5;
        if (windows.sampling.is_elsewhere())
            modelled.warnings.push_back(
                {"model_elsewhere",
                 fmt::format(
                     "the windows are of code in which the command spent {:.0f}% of its time, by {:.0f} looks at "
                     "where it was: the tree says little of the rest",
                     100 * looks.looks_met / looks.looks, looks.looks),
                 "let it run for longer, or ask for more windows with --effort"});
        else if (like_so_many_moments(windows.facts) < nearly_one)
            modelled.warnings.push_back(
                {"model_one_window",
                 fmt::format("{} modelled: the bounds do not cover what another moment of it would have given",
                             windows.facts.size() == 1
                                 ? "one window of the command was"
                                 : "windows of one moment, which stands for nearly all of the command's time, were"),
                 "give it more to do"});
    }
    modelled.sampling = std::move(windows.sampling);
}

/// The helper's windows, or why there are none.
void take_answer(process::Helper& helper, process::SignalWatch& signals, const RegionNames& regions,
                 const ModelledCpu& cpu, const ModelOptions& options, Modelled& modelled) {
    const std::string text = helper.finish(patience_ns(static_cast<double>(modelled.elapsed_ns), options),
                                           [&] { return !signals.wait(0).interrupted; });
    auto windows = text.empty()
                       ? Result<SampledWindows>(fail(ErrorCode::system, "the process that samples it ended early"))
                       : from_text(text);
    if (windows) return add_windows(std::move(*windows), regions, cpu, options, modelled);
    modelled.warnings.push_back(
        {"nothing_traced", "nothing is modelled: " + windows.error().what, windows.error().hint});
}

}  // namespace

Result<Modelled> simulate_command(const std::vector<std::string>& command, core::Core& core, trace::Decoder& decoder,
                                  const ModelledCpu& cpu, const ModelOptions& options) {
    TRY(assumed_pages(options));
    std::optional<process::RegionPage> page;
    std::optional<process::EnvironmentVariable> variable;
    if (options.regions.marks) {
        page.emplace(TRY(process::RegionPage::create()));
        variable.emplace(process::RegionPage::variable, page->path());
    }
    auto held = TRY(process::HeldCommand::start(command));
    variable.reset();
    SamplingRequest request = request_for(options);
    request.regions = {page ? &*page : nullptr, watched_functions(options.regions)};
    request.processes = {held.pid()};
    request.reaper = ::getpid();
    if (options.command_alone_ms == 0) request.held_command = held.pid();
    auto helper = start_helper(request, core, decoder, cpu, options);
    process::SignalWatch signals;
    Modelled modelled;
    const std::uint64_t start = process::now_ns();
    TRY(held.release());
    const pid_t command_pid = held.pid(), helper_pid = helper ? helper->pid() : 0;
    constexpr std::uint64_t reap_every_ns = 20'000'000;
    const auto outcome = process::wait_for(held, signals, {reap_every_ns, [&] {
                                                               process::reap_others(command_pid, helper_pid);
                                                               return true;
                                                           }});
    modelled.elapsed_ns = process::now_ns() - start;
    const RegionNames regions = region_names(options.regions, page, command_pid);
    modelled.processor_ns = held.processor_ns();
    modelled.software_events = software_events(held);
    modelled.exit_status = outcome.status;
    modelled.interrupted = outcome.interrupted;
    if (outcome.interrupted)
        modelled.warnings.push_back({"interrupted", "stopped by a signal: this is what was modelled until then", ""});
    if (helper) take_answer(*helper, signals, regions, cpu, options, modelled);
    process::reap_others(command_pid, helper_pid);
    if (!helper)
        modelled.warnings.push_back(
            {"nothing_traced", "nothing is modelled: " + helper.error().what, helper.error().hint});
    return modelled;
}

Result<Modelled> simulate_processes(const std::vector<pid_t>& processes, double seconds, core::Core& core,
                                    trace::Decoder& decoder, const ModelledCpu& cpu, const ModelOptions& options) {
    TRY(assumed_pages(options));
    for (const pid_t process : processes) TRY(trace::check_can_be_sampled(process));
    SamplingRequest request = request_for(options);
    request.processes = processes;
    request.regions.functions = watched_functions(options.regions);
    SoftwareEvents software(processes);
    auto helper = TRY(start_helper(request, core, decoder, cpu, options));
    process::SignalWatch signals;
    Modelled modelled;
    const std::uint64_t start = process::now_ns();
    const auto left_ns = [&] {
        constexpr std::int64_t look_up_ns = 100'000'000;
        const auto ran = static_cast<std::int64_t>(process::now_ns() - start);
        return seconds > 0 ? std::min(look_up_ns, static_cast<std::int64_t>(seconds * 1e9) - ran) : look_up_ns;
    };
    const auto one_is_there = [&] { return !std::ranges::all_of(processes, process::has_ended); };
    while (!modelled.interrupted && one_is_there() && left_ns() > 0) {
        modelled.interrupted = signals.wait(left_ns()).interrupted;
        software.look();
    }
    modelled.processor_ns = software.processor_ns();
    modelled.software_events = software.events();
    modelled.elapsed_ns = process::now_ns() - start;
    // Ctrl-C is how a look without an end is ended: it is no mishap.
    take_answer(helper, signals, region_names(options.regions, std::nullopt, 0), cpu, options, modelled);
    return modelled;
}

}  // namespace tmaprobe::model
