#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/perf/open_files.h"
#include "counters/plan.h"
#include "machine/pmu_devices.h"

struct perf_evlist;
struct perf_evsel;

namespace tmaprobe::counters::perf {

/// The machine's core PMUs, read once: none comes or goes while a program runs.
const std::vector<machine::Pmu>& known_core_pmus();

/// Whose events are opened, and how they start.
struct CountingTarget {
    std::vector<pid_t> threads = {0};  ///< 0 = the calling thread; {-1} = whatever runs on the CPUs
    std::vector<int> cpus = {-1};      ///< -1 = wherever the threads run
    bool other_process = false;        ///< the threads are not ours (for the words of an error)
    bool inherit = false;              ///< count children too
    bool start_on_exec = false;        ///< start when the thread calls exec, else by CounterSet::enable
    bool user = true, kernel = false;  ///< which privilege levels count
    bool pinned = false;               ///< all or nothing: a group that does not fit reads end of file
    bool user_space_reads = false;     ///< map hardware events so that they can be read without a system call
};

/// What one event's descriptor of one thread on one CPU holds.
struct RawCount {
    std::uint64_t value = 0, enabled_ns = 0, running_ns = 0;
    int error = 0;             ///< errno of a failed read; 0: it was read
    bool end_of_file = false;  ///< the kernel gave the group up (pinned, or an orphaned topdown event)
};

/// How opening one event of a pass went.
struct OpenedEvent {
    std::size_t group = 0, index = 0;  ///< in the pass
    int error = 0;                     ///< errno; 0: it is open
    bool moved = false;                ///< its group refused it (too large), so it counts in a group of its own
    bool without_guests = false;       ///< the kernel lets nobody count in its virtual machines, and so not here
};

/// On what an event is opened.
struct Instances {
    std::vector<int> cpus;       ///< none: none of the wanted CPUs is of its PMU; {-1}: wherever the threads run
    std::vector<pid_t> threads;  ///< {-1}: whatever runs there
    std::size_t count() const { return cpus.size() * threads.size(); }
};
Instances instances_of(const PlannedEvent& event, const CountingTarget& target, const std::vector<machine::Pmu>& pmus);

/// Where the counts of an event lie in what read() fills in: one per CPU and thread, CPUs outermost; none for an event
/// that is not open.
struct Place {
    std::size_t first = 0, count = 0;
    std::vector<int> cpus{};       ///< of its counts; empty: any CPU
    std::vector<pid_t> threads{};  ///< of its counts, of each CPU
    bool elsewhere = false;        ///< none of the wanted CPUs is of its PMU (hybrids)
};

/// What was opened and where its counts are, one of each for every event of the pass.
struct Layout {
    std::vector<OpenedEvent> opened;
    std::vector<Place> places;
};

/// Owns every descriptor and mapping of one pass's events; all are closed with it, also when a later
/// open fails. Groups are groups for scheduling; events are read one by one (libperf reads only the
/// leader of a PERF_FORMAT_GROUP).
class CounterSet {
  public:
    CounterSet();
    CounterSet(CounterSet&&) noexcept;
    CounterSet& operator=(CounterSet&&) noexcept;
    ~CounterSet();

    /// Opens what can be opened; events that cannot are reported by opened(), never silently left out.
    /// Errors: only those that no event can escape (too many files, no such process), as errno's cause.
    static Result<CounterSet> open(const std::vector<EventGroup>& groups, const CountingTarget& target);
    /// Of these groups alone (their places in `groups`); the others' events are not opened, and have no error.
    static Result<CounterSet> open_some(const std::vector<EventGroup>& groups, const CountingTarget& target,
                                        const std::vector<std::size_t>& chosen);

    const Layout& layout() const { return layout_; }
    const std::vector<OpenedEvent>& opened() const { return layout_.opened; }
    const Place& place(std::size_t event) const { return layout_.places[event]; }
    bool any_open() const;
    /// True when each hardware event is mapped, on a counter now, and readable with its time from user space.
    bool reads_in_user_space() const;

    /// The calling thread's own time with the counters enabled, in ns, without a system call; nothing where
    /// no event is mapped or the kernel does not offer it.
    std::optional<std::uint64_t> enabled_now() const;

    /// Starts and stops all groups, one ioctl per group and thread. Errors: errno of the first failure.
    Result<> enable();
    Result<> disable();
    /// Starts what belongs to the machine and no task's exec starts.
    Result<> enable_system_wide();

    /// Software events cost a system call each: read first at a region's start and last at its end, they
    /// stay outside of what hardware events count.
    enum class Order { software_first, hardware_first };
    /// All counts of all events, in a buffer that is reused from call to call.
    void read(std::vector<RawCount>& counts, Order order = Order::hardware_first) const;

  private:
    struct Evlist;
    struct Member;
    int open_member(Evlist& list, std::size_t position, const PlannedEvent& event, const CountingTarget& target,
                    const std::vector<machine::Pmu>& pmus);
    Place place_of(const Member& member) const;
    void read_kind(std::vector<RawCount>& counts, bool software) const;
    std::size_t instances_ = 0;
    std::unique_ptr<MoreOpenFiles> more_open_files_;  ///< outlives the descriptors
    std::vector<std::unique_ptr<Evlist>> lists_;
    std::vector<Member> members_;
    Layout layout_;
};

}  // namespace tmaprobe::counters::perf
