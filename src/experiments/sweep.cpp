#include "experiments/sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/sizes.h"
#include "experiments/cache_share.h"
#include "experiments/requirements.h"
#include "experiments/time_left.h"
#include "experiments/variant_trial.h"
#include "judge/sweep_findings.h"
#include "judge/timing_warnings.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::uint64_t line = 64, small_page = 4096, fine_below = std::uint64_t{64} << 10;

std::vector<std::string> modes_of(const WorkloadRequest& run) {
    return run.pages.empty() ? std::vector{memory::page_modes().front().name} : run.pages;
}

std::uint64_t rounded(double size) {
    const std::uint64_t unit = size < static_cast<double>(fine_below) ? line : small_page;
    return std::max<std::uint64_t>(unit,
                                   static_cast<std::uint64_t>(std::llround(size / static_cast<double>(unit))) * unit);
}

std::vector<std::uint64_t> half_octaves(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> sizes{first};
    for (std::uint64_t power = line; power <= last && power < std::uint64_t{1} << 62; power *= 2)
        for (const std::uint64_t size : {power, power + power / 2})
            if (size > first && size < last) sizes.push_back(size);
    sizes.push_back(last);
    return sizes;
}

std::string key_of(std::uint64_t size, const std::string& pages) { return fmt::format("{} {}", size, pages); }

std::string key_of(const record::Run& run) {
    return key_of(run.parameters.size_bytes.value_or(0), run.pages ? text_of(run.pages->requested) : "");
}

struct Task {
    std::uint64_t size = 0;
    std::string pages;
    bool first_of_mode = false;
};

/// The task's run, if the record holds it.
record::Run* run_of(record::Record& record, const Task& task) {
    const auto found = std::find_if(record.runs.begin(), record.runs.end(),
                                    [&](const auto& run) { return key_of(run) == key_of(task.size, task.pages); });
    return found == record.runs.end() ? nullptr : &*found;
}

std::vector<Task> tasks_of(const SweepRequest& request) {
    std::vector<Task> tasks;
    for (const std::size_t index : spread_order(request.sizes.size()))
        for (const auto& mode : modes_of(request.run.workload))
            tasks.push_back({request.sizes[index], mode, index + 1 == request.sizes.size()});
    return tasks;
}

/// Tells how far a sweep is, by the clock.
class SweepProgress {
  public:
    using Clock = std::chrono::steady_clock;
    SweepProgress(const SweepRequest& request, const SweepHooks& hooks)
        : left_(request.seconds_per_point, request.sizes.front()), hooks_(hooks) {}

    void will_measure(const Task& task) { waiting_.push_back(task.size); }
    /// It came out disturbed: at the end it is measured once more, and so will be as many of those to come.
    void will_measure_again(const Task& task) { again_.push_back(task.size); }
    void begin_point() { began_ = Clock::now(); }
    void end_point(const Task& task) {
        const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
        left_.add(task.size, seconds);
        spent_ += seconds;
        for (auto* sizes : {&waiting_, &again_})
            if (const auto at = std::ranges::find(*sizes, task.size); at != sizes->end()) {
                sizes->erase(at);
                measured_ += sizes == &waiting_;
                break;
            }
    }
    /// While a point is measured: what of it is waited for.
    OnProgress inside(const Task& task) {
        if (!hooks_.on_progress) return {};
        return [this, task](const Progress& step) {
            const double spent = std::chrono::duration<double>(Clock::now() - began_).count();
            // "timing, until the median is tight": a line has room for what is done, not for until when.
            const std::string doing = step.stage.substr(0, step.stage.find(','));
            say(fmt::format("{} {}: {}", format_size(task.size), task.pages, doing), step.estimate, spent,
                std::max(0.0, seconds_left() - std::min(spent, left_.seconds_for(task.size))));
        };
    }
    void report(const Task& task, const record::Time& time) {
        if (hooks_.on_progress)
            say(fmt::format("{} {}", format_size(task.size), task.pages),
                time.known ? format_ns(time.ns_per_op.median) : time.reason, 0, seconds_left());
    }

  private:
    double seconds_left() const {
        const double disturbed =
            measured_ > 0 && !waiting_.empty() ? static_cast<double>(again_.size()) / measured_ : 0;
        double left = 0;
        for (const std::uint64_t size : waiting_) left += (1 + disturbed) * left_.seconds_for(size);
        for (const std::uint64_t size : again_) left += left_.seconds_for(size);
        return left;
    }
    void say(const std::string& stage, const std::string& estimate, double spent_inside, double left) {
        if (!left_.known()) return hooks_.on_progress({stage, 0, estimate, ProgressOf::step});
        const double spent = spent_ + spent_inside;
        // What was said to be done stays done, also where points turn out to take longer.
        if (spent > 0) done_ = std::max(done_, spent / (spent + left));
        if (waiting_.empty() && again_.empty()) done_ = 1;
        hooks_.on_progress({stage, done_, estimate, ProgressOf::whole, left});
    }

    TimeLeft left_;
    const SweepHooks& hooks_;
    std::vector<std::uint64_t> waiting_, again_;  ///< sizes of the points to come, and of those to come once more
    int measured_ = 0;                            ///< points, each counted once
    Clock::time_point began_{};
    double spent_ = 0, done_ = 0;
};

record::Run failed_run(const KernelRun& point, const Task& task, const Error& error) {
    record::Run run;
    run.kernel = point.kernel->name;
    run.variant = point.variant.name;
    run.parameters.size_bytes = task.size;
    run.pages = record::Pages{
        value_named<record::PageKind>(task.pages).value_or(record::PageKind::none), {}, record::PageKind::none};
    run.time.operation = point.kernel->operation;
    run.time.reason = error.what;
    return run;
}

void sort_runs(record::Record& record, const SweepRequest& request) {
    const auto modes = modes_of(request.run.workload);
    const auto rank = [&](const record::Run& run) {
        const auto mode = std::find(modes.begin(), modes.end(), run.pages ? text_of(run.pages->requested) : "");
        return std::pair(mode - modes.begin(), run.parameters.size_bytes.value_or(0));
    };
    std::stable_sort(record.runs.begin(), record.runs.end(),
                     [&](const auto& one, const auto& other) { return rank(one) < rank(other); });
}

void add_new_ids(std::vector<record::Warning>& warnings, const std::vector<record::Warning>& more) {
    // A point's own noise is in its interval; said once for the whole sweep it is enough.
    for (const auto& warning : more)
        if (std::none_of(warnings.begin(), warnings.end(), [&](const auto& old) { return old.id == warning.id; }))
            warnings.push_back(warning);
}

/// One sentence about all points whose model the clock doubts, in the place of the first one's.
void sum_up_doubt(record::Record& record) {
    const auto said = std::find_if(record.warnings.begin(), record.warnings.end(),
                                   [](const auto& warning) { return warning.id == "model_doubtful"; });
    if (said == record.warnings.end()) return;
    std::size_t doubtful = 0, judged = 0;
    double worst = 1;
    for (const auto& run : record.runs) {
        if (!run.extra.model || !run.extra.model->clock_check) continue;
        const record::ClockCheck& check = *run.extra.model->clock_check;
        judged += check.verdict != record::ClockVerdict::not_judged;
        if (check.verdict != record::ClockVerdict::doubtful) continue;
        ++doubtful;
        worst = std::max({worst, check.ratio, 1 / check.ratio});
    }
    // Of a point that was measured again only the better one is left.
    if (doubtful == 0) {
        record.warnings.erase(said);
        return;
    }
    said->what = fmt::format(
        "the model is doubtful at {} of {} points: modelled and measured time are apart by a factor of {:.1f} at "
        "worst, and where the model puts slots may be wrong by as much there",
        doubtful, judged, worst);
}

/// What single points said of themselves, replaced by one sentence about all of them.
void sum_up_disturbance(record::Record& record) {
    std::erase_if(record.warnings,
                  [](const auto& warning) { return warning.id == "disturbed" || warning.id == "noisy_machine"; });
    record::Time all;
    for (const auto& run : record.runs) {
        all.clean += run.time.clean;
        all.disturbed += run.time.disturbed;
        all.causes = judge::merge_causes(all.causes, run.time.causes);
    }
    if (all.disturbed == 0) return;
    const std::string how = all.causes.empty() ? "" : ": " + record::describe(all.causes);
    record.warnings.push_back(
        {"disturbed",
         fmt::format("{} of {} repetitions were disturbed{}", all.disturbed, all.clean + all.disturbed, how),
         fmt::format(
             "points with at least {} clean ones are over those, and the others take no part in knees and verdicts; {}",
             record::enough_clean, judge::what_to_do(all))});
}

/// A curve of one core through the last-level cache is read beside how much of it this machine really gives us.
void add_cache_share(const SweepRequest& request, const KernelRun& point, const machine::Host& host,
                     record::Record& record) {
    const machine::Cache* const last = last_level(host);
    const bool through = last && request.sizes.front() < last->size_bytes && request.sizes.back() >= last->size_bytes;
    const auto& cpus = point.parameters.cpus;
    if (record.partial || !through || point.kernel->name != "chase" || !point.runs_here || cpus.size() != 1) return;
    const auto share = measure_cache_share(host, cpus.front());
    if (!share) {
        record.warnings.push_back({"cache_share",
                                   "the share of the last-level cache is not known: " + share.error().what,
                                   share.error().hint});
        return;
    }
    record.extra.cache_share = *share;
    record.extra.verdicts.push_back(describe(*share) + ", measured apart from the curve");
}

/// What each page mode needs for the largest size that is still to be measured, reserved where that was asked for.
/// Errors: what the machine cannot give, before anything is measured.
Result<> check_sweep(const SweepRequest& request, const KernelRun& point, const machine::Host& host,
                     const record::Record* resumed, memory::ReservedPages& reserved) {
    std::map<std::string, std::uint64_t> largest;
    record::Record there;
    if (resumed) there.runs = resumed->runs;
    for (const Task& task : tasks_of(request)) {
        const record::Run* done = run_of(there, task);
        if (!done || !done->time.known) largest[task.pages] = std::max(largest[task.pages], task.size);
    }
    std::vector<MemoryNeed> needs;
    for (const auto& [mode, size] : largest) {
        KernelRun each = point;
        each.parameters.size_bytes = size;
        const auto need = TRY(needs_of(each, {mode}));
        needs.push_back(need.front());
    }
    if (request.run.workload.reserve_pages && !needs.empty()) {
        auto pages = TRY(reserve_for(needs, false, host));
        reserved = std::move(pages);
    }
    return check_needs(needs, false);
}

}  // namespace

Result<std::vector<std::uint64_t>> sweep_sizes(const std::string& text, int points) {
    if (points < 0 || points == 1 || points > most_points)
        return fail(ErrorCode::bad_usage, fmt::format("--points {} is not between 2 and {}", points, most_points));
    std::vector<std::uint64_t> sizes;
    if (const auto dots = text.find(".."); dots != std::string::npos) {
        const auto first = parse_size(text.substr(0, dots)), last = parse_size(text.substr(dots + 2));
        for (const auto* end : {&first, &last})
            if (!*end) return pass_on(*end);
        if (*first >= *last)
            return fail(ErrorCode::bad_usage, fmt::format("--sizes {}: the first size is not below the last", text),
                        "write for example 16K..256M");
        if (points == 0) {
            sizes = half_octaves(*first, *last);
        } else {
            const double from = std::log(static_cast<double>(*first)), to = std::log(static_cast<double>(*last));
            for (int index = 0; index < points; ++index)
                sizes.push_back(rounded(std::exp(from + (to - from) * index / (points - 1))));
            sizes.front() = *first;
            sizes.back() = *last;
        }
    } else {
        if (points != 0)
            return fail(ErrorCode::bad_usage, "--points needs a range of sizes",
                        "write for example --sizes 16K..256M --points 30");
        for (std::size_t at = 0; at <= text.size();) {
            const auto comma = std::min(text.find(',', at), text.size());
            const auto size = TRY(parse_size(text.substr(at, comma - at)));
            sizes.push_back(size);
            at = comma + 1;
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

Result<> measure_points(const SweepRequest& request, const KernelRun& point, const MeasurePoint& measure,
                        const SweepHooks& hooks, record::Record& record) {
    // Points without a time are tried again.
    std::erase_if(record.runs, [](const record::Run& run) { return !run.time.known; });
    std::map<std::string, timing::EffectivePages> effective;
    SweepProgress progress(request, hooks);
    for (const Task& task : tasks_of(request))
        if (!run_of(record, task)) progress.will_measure(task);

    const auto measure_task = [&](const Task& task) -> Result<MeasuredRun> {
        KernelRun each = point;
        each.parameters.size_bytes = task.size;
        each.parameters.pages = TRY(memory::parse_page_mode(task.pages));
        if (const auto known = effective.find(task.pages); known != effective.end()) each.effective = known->second;
        progress.begin_point();
        auto measured = measure(each, progress.inside(task));
        progress.end_point(task);
        if (measured && measured->run.pages)
            effective[task.pages] = {text_of(measured->run.pages->effective), measured->run.extra.effective_pages, 0};
        return measured;
    };
    const auto report = [&](const Task& task, const record::Time& time) {
        progress.report(task, time);
        if (hooks.save) hooks.save(record);
    };

    record.partial = true;
    for (const Task& task : tasks_of(request)) {
        if (hooks.interrupted && hooks.interrupted()) return {};
        if (run_of(record, task)) continue;
        auto measured = measure_task(task);
        if (!measured && (task.first_of_mode || measured.error().code == ErrorCode::bad_usage))
            return pass_on(measured);
        if (measured) {
            record.source = measured->source;
            add_new_ids(record.warnings, measured->warnings);
            record.runs.push_back(std::move(measured->run));
        } else {
            record.runs.push_back(failed_run(point, task, measured.error()));
        }
        if (judge::too_few_clean(record.runs.back().time)) progress.will_measure_again(task);
        report(task, record.runs.back().time);
    }
    // Disturbed points get a second look when the stranger may have gone; the better one is kept.
    for (const Task& task : tasks_of(request)) {
        record::Run* run = run_of(record, task);
        if (!run || !judge::too_few_clean(run->time)) continue;
        if (hooks.interrupted && hooks.interrupted()) return {};
        auto again = measure_task(task);
        if (again && again->run.time.clean > run->time.clean) *run = std::move(again->run);
        report(task, run->time);
    }
    record.partial = false;
    return {};
}

Result<record::Record> sweep(const SweepRequest& request, const machine::Host& host, const machine::Topology& topology,
                             const SweepHooks& hooks, const record::Record* resumed) {
    if (request.sizes.empty()) return fail(ErrorCode::bad_usage, "no sizes to sweep over");
    const auto known = TRY(kernels::find(request.run.workload.kernel));
    if (!known->uses_memory)
        return fail(ErrorCode::bad_usage,
                    fmt::format("kernel {} has no size to sweep over", request.run.workload.kernel),
                    "tmaprobe list kernels shows those that have");
    const auto setup = TRY(set_up(request.run.counting, host, topology));
    // One variant for the whole curve, or a change of vectors would look like a knee: that of the smallest block.
    WorkloadRequest smallest = request.run.workload;
    smallest.size_bytes = *std::min_element(request.sizes.begin(), request.sizes.end());
    auto point = TRY(choose_kernel_run(smallest, setup));
    memory::ReservedPages reserved;
    TRY(check_sweep(request, point, setup.host, resumed, reserved));
    TRY(choose_by_trial(smallest, setup, point));

    record::Record record = start_record(request.run.command_line, setup);
    record.experiment = record::Experiment::sweep;
    record.extra.sweep = plan_of(request);
    if (resumed) {
        record.runs = resumed->runs;
        record.warnings = resumed->warnings;
        record.source = resumed->source;
        record.started = resumed->started;
    }
    timing::TimingRequest timing;
    timing.repetitions = request.run.repeat.repetitions;
    timing.least = 5;
    timing.tightness = 0.01;
    timing.repetition_ns = 10e6;
    timing.budget_ns = request.seconds_per_point * 1e9;
    const auto measure = [&](const KernelRun& each, const OnProgress& on_progress) {
        return measure_kernel(request.run.counting, request.run.repeat, setup, each, timing, on_progress);
    };
    TRY(measure_points(request, point, measure, hooks, record));
    sort_runs(record, request);
    sum_up_doubt(record);
    sum_up_disturbance(record);
    judge::judge_sweep(record, setup.host);
    if (hooks.on_progress)
        hooks.on_progress({"how much of the last-level cache is to be had", 1, {}, ProgressOf::step});
    add_cache_share(request, point, setup.host, record);
    if (!point.why_these_cpus.empty())
        record.warnings.push_back({"quieter_cpu", point.why_these_cpus, "--cpu names one"});
    give_back(reserved, record);
    return record;
}

}  // namespace tmaprobe::experiments
