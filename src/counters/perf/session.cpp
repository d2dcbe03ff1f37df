#include "counters/perf/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "counters/perf/attributes.h"
#include "counters/perf/clock_events.h"
#include "machine/perf_access.h"
#include "machine/pmu_devices.h"
#include "process/held_command.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// The kernel folds 8-bit topdown metrics into counts at every read: long spans lose precision.
constexpr std::uint64_t topdown_refresh_ns = 1000 * ms;

/// Windows over which the rates of multiplexed events are compared, for their error bounds: short at first,
/// so that short commands have some, then fewer and fewer.
constexpr std::uint64_t first_window_ns = 5 * ms;
constexpr std::size_t windows_before_doubling = 24;
constexpr std::size_t most_windows = 400;

bool has_topdown(const Pass& pass) {
    for (const auto& group : pass.groups)
        for (const auto& event : group.events)
            if (event.metric_only) return true;
    return false;
}

Result<CountingTarget> make_target(const Session& session, const std::optional<process::HeldCommand>& command) {
    CountingTarget target;
    target.user = session.plan.user;
    target.kernel = session.plan.kernel;
    target.inherit = session.options.detail.inherit && !session.options.detail.apart;
    switch (session.scope.kind) {
        case Scope::Kind::process: {
            target.threads = TRY(threads_of(session.scope, session.options.detail));
            target.other_process = true;
            break;
        }
        case Scope::Kind::cpus:
            target.threads = {-1};
            target.cpus = session.scope.cpus;
            target.inherit = false;
            break;
        default:
            target.threads = {command->pid()};
            target.start_on_exec = !session.options.detail.delay_ms;
    }
    return target;
}

/// On a busy machine a thread that ends is listed for a while, and can no longer be counted.
bool is_ending(pid_t thread) {
    constexpr unsigned exiting = 0x4;  // the kernel's PF_EXITING
    const std::string line = read_line(fmt::format("/proc/{0}/task/{0}/stat", thread));
    const std::size_t name_ends = line.rfind(')');
    char state = 0;
    unsigned flags = 0;
    if (name_ends == std::string::npos ||
        std::sscanf(line.c_str() + name_ends + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
        return true;
    return state == 'Z' || state == 'X' || (flags & exiting);
}

/// A process may end threads while its counters are opened: then it is tried without these. Those that start are
/// counted with the threads that start them.
Result<CounterSet> open_set(const Session& session, const std::optional<process::HeldCommand>& command,
                            const std::vector<EventGroup>& groups) {
    auto target = TRY(make_target(session, command));
    for (int in_vain = 0;;) {
        auto set = CounterSet::open(groups, target);
        if (set || session.scope.kind != Scope::Kind::process || in_vain == 3) return set;
        const auto there = TRY(threads_of(session.scope, session.options.detail));
        const auto ended = std::erase_if(target.threads, [&](pid_t thread) {
            return std::ranges::find(there, thread) == there.end() || is_ending(thread);
        });
        if (target.threads.empty()) target.threads = there;
        in_vain += ended == 0;
    }
}

/// One pass's counters and everything that is taken from them while they run.
class Recording {
  public:
    Recording(const Session& session, CounterSet set, std::optional<ResidencyCounters> residency)
        : session_(session),
          pass_(session.plan.passes[session.pass]),
          set_(std::move(set)),
          residency_(std::move(residency)) {}

    /// What no exec starts.
    Result<> enable_system_wide() { return set_.enable_system_wide(); }
    Result<> enable() {
        if (auto on = set_.enable(); !on) return on;
        return residency_ ? residency_->enable() : Result<>{};
    }
    void disable() {
        if (residency_) residency_->disable();
        (void)set_.disable();
    }
    /// The time begins; `counting`: so does the counting, by itself or by enable().
    void start(bool counting) {
        start_ = last_ = since_ = now();
        counting_ = has_counted_ = counting;
    }

    /// Counts from here on; again, after a pause.
    void go_on() {
        if (counting_ || !enable()) return;
        counting_ = has_counted_ = true;
        set_.read(last_counts_);
        last_residency_ = residency_total();
        last_ = since_ = now();
    }
    void pause() {
        if (!counting_) return;
        tick();
        disable();
        counting_ = false;
        counted_ = counted_.plus(now().since(since_));
    }
    /// Forgets what has been counted until now.
    void reset() {
        set_.read(base_counts_);
        base_residency_ = residency_total();
        counted_ = {};
        since_ = now();
        spreads_.clear();
        has_counted_ = counting_;
    }

    /// One step: rates for the bounds, and the series if there is an interval.
    void tick() {
        if (!counting_) return;
        set_.read(now_counts_);
        end_step(now());
    }
    bool has_counted() const { return has_counted_; }

    /// Everything from start to now; the counters have been stopped.
    void finish(Sample& sample) {
        const Instant end = now();
        sample.elapsed_ns = end.since(start_).ns;
        set_.read(now_counts_);
        const Instant counted = counting_ ? counted_.plus(end.since(since_)) : counted_;
        if (counting_ && (session_.options.interval_ms > 0 || ticks_ > 0)) end_step(end);
        const Span all = span(base_counts_, now_counts_, counted.ns);
        sample.events = collect(pass_, session_.place, set_, all, residency_total() - base_residency_);
        set_clock_events(sample.events, counted);
        const double step = ticks_ ? static_cast<double>(counted.ns) / static_cast<double>(ticks_) : 0;
        set_bounds(sample.events, spreads_, step, session_.rotation_ns);
        if (session_.scope.kind == Scope::Kind::cpus) sample.by_cpu = collect_by_cpu(pass_, session_.place, set_, all);
        if (session_.options.detail.apart) sample.by_cpu = collect_by_thread(pass_, session_.place, set_, all);
        sample.series = std::move(series_);
        add_residency(sample);
    }

    std::size_t ticks() const { return ticks_; }

  private:
    /// What was counted since the last step, of which the counts have just been read.
    void end_step(const Instant& end) {
        const Instant spent = end.since(last_);
        auto events =
            collect(pass_, session_.place, set_, span(last_counts_, now_counts_, spent.ns), residency_delta());
        set_clock_events(events, spent);
        add_rates(spreads_, events);
        if (session_.options.interval_ms > 0) {
            set_bounds(events, {}, 0, session_.rotation_ns);
            note_unimplemented(events, session_.listed);
            series_.push_back({last_.ns - start_.ns, spent.ns, std::move(events)});
            if (session_.options.on_interval) session_.options.on_interval(series_.back());
        }
        last_counts_ = now_counts_;
        last_ = end;
        ++ticks_;
    }

    Span span(const std::vector<RawCount>& before, const std::vector<RawCount>& after, std::uint64_t elapsed) const {
        return {before.empty() ? nullptr : &before, &after, Bracketing::started_and_stopped, elapsed};
    }

    Residency residency_total() const { return residency_ ? residency_->read() : Residency{}; }

    Residency residency_delta() {
        const Residency total = residency_total();
        return total - std::exchange(last_residency_, total);
    }

    void add_residency(Sample& sample) const {
        const Residency spent = residency_total() - base_residency_;
        std::uint64_t sum = 0;
        for (const auto& [pmu, time] : spent) sum += time;
        if (spent.size() < 2 || sum == 0) return;
        std::string shares;
        int kinds = 0;
        for (const auto& [pmu, time] : spent) {
            const double share = static_cast<double>(time) / static_cast<double>(sum);
            perf_detail(sample).residency[pmu] = share;
            shares += fmt::format("{}{} {:.1f}%", shares.empty() ? "" : ", ", pmu, 100 * share);
            kinds += time > 0;
        }
        if (kinds < 2) return;
        const auto why = machine::problem_of(machine::PerfCause::hybrid_migration, machine::detect_perf_access());
        sample.warnings.push_back({text_of(why.cause), why.what + " (here: " + shares + ")", why.hint});
    }

    const Session& session_;
    const Pass& pass_;
    CounterSet set_;
    std::optional<ResidencyCounters> residency_;
    std::vector<RawCount> base_counts_, last_counts_, now_counts_;
    std::vector<RateSpread> spreads_;
    std::vector<Interval> series_;
    Residency base_residency_, last_residency_;
    Instant start_, last_;
    Instant since_, counted_;  ///< when counting went on, and how long it took before that
    bool counting_ = false, has_counted_ = false;
    std::size_t ticks_ = 0;
};

std::uint64_t tick_length(const Session& session) {
    if (session.options.interval_ms > 0) return static_cast<std::uint64_t>(session.options.interval_ms) * ms;
    if (session.plan.policy == Policy::multiplex) return first_window_ns;
    if (has_topdown(session.plan.passes[session.pass])) return topdown_refresh_ns;
    return 0;
}

/// Follows what another program asks for. False: nobody can ask any more.
bool follow(process::ControlChannel& control, Recording& recording) {
    using enum process::ControlCommand;
    for (const auto command : control.read()) {
        if (command == enable) recording.go_on();
        if (command == disable) recording.pause();
        if (command == reset) recording.reset();
        if (command == unknown)
            log::detail("--control: a command that is none of enable, disable, reset and ping");
        else
            control.acknowledge();
    }
    return control.is_open();
}

record::Warning never_began(const ScopeDetail& when) {
    return {"counting_never_began", "it ended before counting began: nothing was counted",
            when.delay_ms.value_or(0) >= 0 ? "a shorter --delay" : "--control is what begins it, by the word enable"};
}

/// The threads of one process.
Result<std::vector<pid_t>> threads_of(pid_t process) {
    std::vector<pid_t> threads;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        const std::string name = entry.path().filename();
        pid_t thread = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc{})
            threads.push_back(thread);
    }
    if (threads.empty())
        return fail(ErrorCode::unavailable, fmt::format("there is no process {}", process),
                    "ps -e shows those there are");
    return threads;
}

}  // namespace

std::vector<pid_t> pids_of(const Scope& scope, const ScopeDetail& detail) {
    std::vector<pid_t> pids{scope.pid};
    pids.insert(pids.end(), detail.further_pids.begin(), detail.further_pids.end());
    return pids;
}

Result<std::vector<pid_t>> threads_of(const Scope& scope, const ScopeDetail& detail) {
    std::vector<pid_t> threads;
    for (const pid_t thread : detail.threads) {
        std::error_code error;
        if (!std::filesystem::exists(fmt::format("/proc/{0}/task/{0}", thread), error))
            return fail(ErrorCode::unavailable, fmt::format("there is no thread {}", thread),
                        "ps -eL shows those there are");
        threads.push_back(thread);
    }
    if (!threads.empty()) return threads;
    for (const pid_t process : pids_of(scope, detail)) {
        const auto more = TRY(threads_of(process));
        threads.insert(threads.end(), more.begin(), more.end());
    }
    return threads;
}

Result<Sample> run_session(const Session& session, Workload& workload, const Repetition& repetition) {
    const auto argv = workload.command();
    const auto& groups = session.plan.passes[session.pass].groups;

    // The command is forked before any counter is open, so that it inherits none.
    std::optional<process::HeldCommand> command;
    if (!argv.empty()) {
        auto held = TRY(process::HeldCommand::start(argv));
        command.emplace(std::move(held));
    }
    process::SignalWatch signals;
    auto set = TRY(open_set(session, command, groups));
    const auto target = TRY(make_target(session, command));

    Sample sample;
    sample.iterations = repetition.iterations;
    Recording recording(session, std::move(set), ResidencyCounters::open(target));
    std::size_t calls = 0, stride = 1;
    const ScopeDetail& when = session.options.detail;
    const bool thin_out = session.options.interval_ms == 0 && session.plan.policy == Policy::multiplex;
    process::Ticks ticks{tick_length(session),
                         [&] {
                             if (++calls % stride == 0) {
                                 recording.tick();
                                 if (thin_out && recording.ticks() % windows_before_doubling == 0) stride *= 2;
                             }
                             return !thin_out || recording.ticks() < most_windows;
                         },
                         command ? 0 : static_cast<std::uint64_t>(session.options.seconds * 1e9)};
    if (when.delay_ms && *when.delay_ms >= 0) {
        ticks.once_at_ns = static_cast<std::uint64_t>(*when.delay_ms) * ms;
        ticks.once = [&] { recording.go_on(); };
        if (ticks.until_ns) ticks.until_ns += ticks.once_at_ns;  // the time is that of counting
    }
    if (session.control) {
        ticks.watched = session.control->descriptor();
        ticks.on_watched = [&] { return follow(*session.control, recording); };
    }
    const bool starts_by_itself =
        command && session.scope.kind != Scope::Kind::process && session.scope.kind != Scope::Kind::cpus;
    if (!when.delay_ms) TRY(starts_by_itself ? recording.enable_system_wide() : recording.enable());
    recording.start(!when.delay_ms);
    bool interrupted = false;
    if (command) {
        TRY(command->release());
        const auto outcome = wait_for(*command, signals, ticks);
        sample.exit_status = outcome.status;
        interrupted = outcome.interrupted;
    } else if (workload.only_waits() && session.scope.kind == Scope::Kind::cpus) {
        process::wait_for_signal(signals, ticks);
    } else if (session.scope.kind == Scope::Kind::process) {
        const auto& threads = when.threads;
        interrupted =
            process::wait_for_processes(threads.empty() ? pids_of(session.scope, when) : threads, signals, ticks);
    } else {
        workload.run(repetition.iterations);
    }
    recording.disable();
    recording.finish(sample);
    if (!recording.has_counted()) {
        sample.nothing_seen = true;
        sample.warnings.push_back(never_began(when));
    }
    sample.interrupted = interrupted;
    if (interrupted) {
        perf_detail(sample).interrupted = true;
        sample.warnings.push_back({"interrupted", "stopped by a signal: this is what was counted until then", ""});
    }
    return sample;
}

}  // namespace tmaprobe::counters::perf
