#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "counters/perf/counter_set.h"
#include "process/held_command.h"

namespace tmaprobe::counters::perf {

/// What is open at the same time where not every counter can be.
struct Turn {
    std::vector<std::size_t> groups;
    std::size_t part = 0, parts = 1;  ///< which of so many equal parts of the CPUs or threads
};

/// All groups in turns of at most `files` counters: whole groups while they fit, else one group on a part of the CPUs
/// or threads. One turn where everything fits. None where not even one group fits on one CPU or thread.
std::vector<Turn> turns_of(const std::vector<EventGroup>& groups, const CountingTarget& target, std::size_t files);

/// The target, of whose CPUs or threads the turn has a part.
CountingTarget part_of(const CountingTarget& target, const Turn& turn);

/// The counters of a process or of CPUs: all open at the same time, or in turns. In turns, a count lacks what happened
/// in the others' turns, and its time enabled has it: it is scaled and bounded as one that shares a counter.
class CountsInTurns {
  public:
    /// Opens the turn's groups on the target; the other events stay closed.
    using Open = std::function<Result<CounterSet>(const CountingTarget&, const Turn&)>;
    /// The target as it is now: threads come and go.
    using Look = std::function<Result<CountingTarget>()>;

    /// `apart`: each thread has counts of its own, else all threads together. Errors: as CounterSet::open.
    static Result<CountsInTurns> open(const std::vector<EventGroup>& groups, bool apart, Look look, Open open);

    std::size_t turns() const { return turns_.size(); }
    /// Counters that all turns together would take.
    std::size_t wanted_files() const { return wanted_files_; }
    /// That could be opened.
    std::size_t files() const { return files_; }
    /// How long this turn has counted, and how long it took to exchange its counters for the last turn's.
    std::uint64_t turn_took_ns() const { return process::now_ns() - enabled_at_; }
    std::uint64_t exchange_took_ns() const { return enabled_at_ - since_; }
    /// Of the turns until now, exchanging included.
    double mean_turn_ns() const;
    /// Of the turn with the most groups.
    std::size_t groups_at_once() const;
    const Layout& layout() const { return turns() > 1 ? layout_ : set_.layout(); }

    Result<> enable();
    Result<> enable_system_wide() { return set_.enable_system_wide(); }
    Result<> disable();
    void read(std::vector<RawCount>& counts) const;
    /// The next turn's counters instead of these, which count on if these did. What cannot be opened (the last thread
    /// has ended) is not counted in its turn.
    void next();

  private:
    /// One CPU (with Kind::cpu) or one thread.
    struct Instance {
        bool is_cpu = false;
        int id = 0;
        friend auto operator<=>(const Instance&, const Instance&) = default;
    };
    using Times = std::map<Instance, std::uint64_t>;

    Result<> open_turn();
    void close_turn();
    void lay_out(const CountingTarget& target);
    std::size_t slot_of(std::size_t event, const Instance& instance) const;
    void note_start();
    Times times_of_turn(const std::vector<RawCount>& counts) const;
    void add_turn(std::vector<RawCount>& counts) const;

    const std::vector<EventGroup>* groups_ = nullptr;
    bool apart_ = false, enabled_ = false, closed_ = false;
    Look look_;
    Open open_;
    std::vector<Turn> turns_;
    std::size_t turn_ = 0, wanted_files_ = 0, files_ = 0;
    CounterSet set_;
    Layout layout_;                    ///< of all turns
    std::vector<Instance> instances_;  ///< of the target, now
    std::vector<RawCount> kept_;       ///< of the turns that are over, by layout_
    std::uint64_t since_ = 0;          ///< when the last turn was over, or counting went on
    std::uint64_t enabled_at_ = 0;     ///< when this turn began to count: a while later
    std::uint64_t over_ns_ = 0;        ///< all turns that are over
    std::size_t turns_over_ = 0;
    Times started_;  ///< what each instance's clock showed as this turn began to count
};

}  // namespace tmaprobe::counters::perf
