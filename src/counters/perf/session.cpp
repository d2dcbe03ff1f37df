#include "counters/perf/session.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "counters/perf/clock_events.h"
#include "counters/perf/latency_sampling.h"
#include "counters/perf/region_counters.h"
#include "counters/perf/targets.h"
#include "counters/perf/turns.h"
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

constexpr double shortest_turn_ns = 50e6;

bool has_topdown(const Pass& pass) {
    for (const auto& group : pass.groups)
        for (const auto& event : group.events)
            if (event.metric_only) return true;
    return false;
}

/// One pass's counters and everything that is taken from them while they run.
class Recording {
  public:
    Recording(const Session& session, CountsInTurns set, std::optional<ResidencyCounters> residency,
              LatencySampling latencies)
        : session_(session),
          pass_(session.plan.passes[session.pass]),
          set_(std::move(set)),
          residency_(std::move(residency)),
          latencies_(std::move(latencies)) {}

    /// The threads of control groups that are told apart.
    void tell_apart(std::vector<std::set<pid_t>> groups) { groups_ = std::move(groups); }

    /// So many groups of each of its threads take turns with those of this recording.
    void shares_with(std::size_t groups) { others_ = groups; }

    /// What no exec starts.
    Result<> enable_system_wide() { return set_.enable_system_wide(); }
    Result<> enable() {
        if (auto on = set_.enable(); !on) return on;
        latencies_.enable();
        return residency_ ? residency_->enable() : Result<>{};
    }
    void disable() {
        latencies_.disable();
        if (residency_) residency_->disable();
        (void)set_.disable();
    }
    /// The time begins; `counting`: so does the counting, by itself or by enable().
    void start(bool counting) {
        start_ = last_ = since_ = now();
        counting_ = has_counted_ = counting;
        if (counting) latencies_.begin();
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
        latencies_.reset();
    }

    /// One step: rates for the bounds, and the series if there is an interval.
    void tick() {
        if (!counting_) return;
        set_.read(now_counts_);
        // An interval has a turn of every group.
        if (session_.options.interval_ms == 0 || ++turns_taken_ % set_.turns() == 0) end_step(now());
        // Exchanging counters stops the threads that are counted again and again: it is to be a tenth of the time at
        // most.
        if (session_.options.interval_ms > 0 || set_.turn_took_ns() > 10 * set_.exchange_took_ns()) set_.next();
    }
    bool has_counted() const { return has_counted_; }
    LatencySampling& latencies() { return latencies_; }

    /// Everything from start to now; the counters have been stopped.
    void finish(Sample& sample) {
        const Instant end = now();
        sample.elapsed_ns = end.since(start_).ns;
        set_.read(now_counts_);
        const Instant counted = counting_ ? counted_.plus(end.since(since_)) : counted_;
        if (counting_ && (session_.options.interval_ms > 0 || ticks_ > 0)) end_step(end);
        const Span all = span(base_counts_, now_counts_, counted.ns);
        sample.events = collect(pass_, session_.place, set_.layout(), all, residency_total() - base_residency_);
        set_clock_events(sample.events, counted);
        const double step = ticks_ ? static_cast<double>(counted.ns) / static_cast<double>(ticks_) : 0;
        set_bounds(sample.events, spreads_, step, sharing(sample.events, counted.ns));
        if (set_.turns() > 1) sample.warnings.push_back(in_turns());
        if (session_.scope.kind == Scope::Kind::cpus)
            sample.by_cpu = collect_by_cpu(pass_, session_.place, set_.layout(), all);
        say_unplugged(sample);
        say_without_guests(sample);
        if (session_.options.detail.apart) sample.by_cpu = collect_by_thread(pass_, session_.place, set_.layout(), all);
        // In turns, what all threads did is kept together.
        if (!groups_.empty() && set_.turns() == 1)
            sample.by_cpu = collect_by_group(pass_, session_.place, set_.layout(), all, groups_);
        sample.series = std::move(series_);
        sample.latencies = latencies_.finish();
        add_residency(sample);
    }

    std::size_t ticks() const { return ticks_; }

    /// How often to call tick(); 0: never.
    std::uint64_t tick_length() const {
        const auto& options = session_.options;
        if (set_.turns() > 1) return turn_ns();
        if (options.interval_ms > 0) return static_cast<std::uint64_t>(options.interval_ms) * ms;
        if (session_.plan.policy == Policy::multiplex) return first_window_ns;
        return has_topdown(pass_) ? topdown_refresh_ns : 0;
    }
    /// Whether later windows may be longer, and at last there may be none.
    bool may_thin_out() const {
        return session_.options.interval_ms == 0 && session_.plan.policy == Policy::multiplex && set_.turns() == 1;
    }

  private:
    /// Long enough for the kernel to rotate the groups of a turn, short enough for each to have some.
    std::uint64_t turn_ns() const {
        const auto turns = static_cast<double>(set_.turns());
        const auto& options = session_.options;
        double turn = std::max(shortest_turn_ns, 3 * session_.rotation_ns * static_cast<double>(set_.groups_at_once()));
        if (options.seconds > 0) turn = std::min(turn, options.seconds * 1e9 / (2 * turns));
        if (options.interval_ms > 0) turn = options.interval_ms * 1e6 / turns;
        return static_cast<std::uint64_t>(std::max(1e6, turn));
    }

    /// After how much counted time other groups have their turn. All CPUs and threads take turns together, so that each
    /// turn is one sample of them all.
    Sharing sharing(const std::vector<record::Event>& events, std::uint64_t elapsed_ns) const {
        if (set_.turns() == 1 || elapsed_ns == 0) return {session_.rotation_ns, false, latencies_.events() + others_};
        std::uint64_t enabled = elapsed_ns;
        for (const auto& event : events) enabled = std::max(enabled, event.reading.time_enabled_ns);
        return {set_.mean_turn_ns() * static_cast<double>(enabled) / static_cast<double>(elapsed_ns), true};
    }

    record::Warning in_turns() const {
        const bool threads = session_.scope.kind == Scope::Kind::process;
        return {
            "counted_in_turns",
            fmt::format("{} counters are needed, and only {} more files may be open: groups were counted in {} turns "
                        "of {:.0f} ms, and scaled{}",
                        set_.wanted_files(), set_.files(), set_.turns(), set_.mean_turn_ns() * 1e-6,
                        threads ? "; a thread that came and went between two turns is in none" : ""),
            "sudo prlimit --pid $$ --nofile=65536 raises the limit for this shell; or fewer metrics, threads or CPUs"};
    }

    void say_without_guests(Sample& sample) const {
        const auto counts = [](const OpenedEvent& event) { return event.without_guests && event.error == 0; };
        if (std::ranges::none_of(set_.layout().opened, counts)) return;
        sample.warnings.push_back({"guests_not_counted",
                                   "virtual machines of this host have the counters while they run: what runs in them "
                                   "is not counted",
                                   "count inside the virtual machine"});
    }

    /// A CPU that goes offline takes its counters with it: their time ends early.
    void say_unplugged(Sample& sample) const {
        std::map<int, std::uint64_t> times;
        std::uint64_t whole = 0;
        for (const auto& [cpu, events] : sample.by_cpu)
            for (const auto& event : events) {
                if (event.reading.time_enabled_ns) times[cpu] = std::max(times[cpu], event.reading.time_enabled_ns);
                whole = std::max(whole, event.reading.time_enabled_ns);
            }
        std::string gone;
        for (const auto& [cpu, time] : times)
            if (static_cast<double>(time) < 0.99 * static_cast<double>(whole) - 10e6)
                gone += (gone.empty() ? "" : ", ") + fmt::format("{} (counted for {:.3g} of {:.3g} s)", cpu,
                                                                 static_cast<double>(time) * 1e-9,
                                                                 static_cast<double>(whole) * 1e-9);
        if (gone.empty()) return;
        sample.warnings.push_back({"cpu_went_offline", "went offline while it was counted: CPU " + gone,
                                   "echo 1 > /sys/devices/system/cpu/cpuN/online"});
    }

    /// What was counted since the last step, of which the counts have just been read.
    void end_step(const Instant& end) {
        const Instant spent = end.since(last_);
        auto events =
            collect(pass_, session_.place, set_.layout(), span(last_counts_, now_counts_, spent.ns), residency_delta());
        set_clock_events(events, spent);
        add_rates(spreads_, events);
        if (session_.options.interval_ms > 0) {
            set_bounds(events, {}, 0, sharing(events, spent.ns));
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
    std::vector<std::set<pid_t>> groups_;
    const Pass& pass_;
    CountsInTurns set_;
    std::optional<ResidencyCounters> residency_;
    LatencySampling latencies_;
    std::vector<RawCount> base_counts_, last_counts_, now_counts_;
    std::vector<RateSpread> spreads_;
    std::vector<Interval> series_;
    Residency base_residency_, last_residency_;
    Instant start_, last_;
    Instant since_, counted_;  ///< when counting went on, and how long it took before that
    bool counting_ = false, has_counted_ = false;
    std::size_t ticks_ = 0, turns_taken_ = 0, others_ = 0;
};

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

/// What a session's latencies are sampled on: of a process, the threads that it has now.
CountingTarget sampling_target(CountingTarget target) {
    if (target.other_process) target.inherit = false;
    return target;
}

/// In which each event that is sampled has a counter once, as each group that is counted; 0: nothing else is counted.
std::uint64_t sampling_turn_ns(const Session& session) {
    const std::size_t groups = session.plan.passes[session.pass].groups.size();
    if (groups == 0) return 0;
    return static_cast<std::uint64_t>(session.rotation_ns * static_cast<double>(groups + session.latencies.size()));
}

/// One descriptor that is readable when either of two is; -1 stands for none.
class EitherReadable {
  public:
    EitherReadable(int one, int other) : single_(std::max(one, other)) {
        if (one < 0 || other < 0) return;
        both_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
        for (const int descriptor : {one, other}) {
            epoll_event readable{};
            readable.events = EPOLLIN;
            (void)::epoll_ctl(both_.get(), EPOLL_CTL_ADD, descriptor, &readable);
        }
    }
    int descriptor() const { return both_ ? both_.get() : single_; }
    void forget(int descriptor) {
        if (both_) (void)::epoll_ctl(both_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    }

  private:
    int single_ = -1;
    Fd both_;
};

record::Warning never_began(const ScopeDetail& when) {
    return {"counting_never_began", "it ended before counting began: nothing was counted",
            when.delay_ms.value_or(0) >= 0 ? "a shorter --delay" : "--control is what begins it, by the word enable"};
}

}  // namespace

Result<Sample> run_session(const Session& session, Workload& workload, const Repetition& repetition) {
    const auto argv = workload.command();
    const auto& groups = session.plan.passes[session.pass].groups;

    // The command is forked before any counter is open, so that it inherits none.
    std::optional<RegionCounters> regions;
    std::optional<process::HeldCommand> command;
    if (!argv.empty()) {
        std::optional<process::EnvironmentVariable> variable;
        if (session.regions) {
            CountingTarget own;
            own.user = session.plan.user;
            own.kernel = session.plan.kernel;
            own.user_space_reads = session.options.user_space_reads;
            regions.emplace(
                TRY(RegionCounters::create(*session.regions, session.regions_place, own, known_core_pmus().size())));
            variable.emplace(process::RegionPage::variable, regions->path());
        }
        auto held = TRY(process::HeldCommand::start(argv));
        command.emplace(std::move(held));
    }
    process::SignalWatch signals;
    const auto* held = command ? &*command : nullptr;
    std::vector<std::set<pid_t>> members;
    add_members(session.options.detail, members);
    auto set = TRY(CountsInTurns::open(
        groups, session.options.detail.apart, [&] { return target_of(session, held); },
        [&](const CountingTarget& target, const Turn& turn) { return open_on(session, target, turn.groups); }));
    const auto target = TRY(target_of(session, held));
    add_members(session.options.detail, members);

    Sample sample;
    sample.iterations = repetition.iterations;
    auto sampling = set.turns() > 1
                        ? LatencySampling(all_missing(session.latencies, record::NoLatency::no_room))
                        : LatencySampling::open(session.latencies, sampling_target(target), sampling_turn_ns(session));
    Recording recording(session, std::move(set), ResidencyCounters::open(target), std::move(sampling));
    if (!session.options.detail.apart) recording.tell_apart(std::move(members));
    if (regions) recording.shares_with(regions->groups());
    std::size_t calls = 0, stride = 1;
    const ScopeDetail& when = session.options.detail;
    const bool thin_out = recording.may_thin_out();
    process::Ticks ticks{recording.tick_length(),
                         [&] {
                             if (++calls % stride == 0) {
                                 recording.tick();
                                 if (regions) regions->tick();
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
    EitherReadable wakes(session.control ? session.control->descriptor() : -1, recording.latencies().descriptor());
    ticks.watched = wakes.descriptor();
    ticks.on_watched = [&] {
        recording.latencies().drain();
        bool controlled = session.control && session.control->is_open();
        if (controlled && !follow(*session.control, recording)) {
            wakes.forget(session.control->descriptor());
            controlled = false;
        }
        return controlled || recording.latencies().any();
    };
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
    if (regions)
        sample.regions =
            regions->finish({command->pid(), command->processor_ns(), session.rotation_ns}, sample.warnings);
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
