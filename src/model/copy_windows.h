#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "model/copy_entries.h"
#include "model/sampled_windows.h"
#include "model/window_likeness.h"
#include "model/window_simulator.h"
#include "model/windows_beside.h"
#include "trace/copy_calls.h"
#include "trace/region_watch.h"
#include "trace/sampler.h"
#include "trace/translator.h"

namespace tmaprobe::model {

/// How far a copy is followed: moments of it, between which it runs by itself.
struct Following {
    std::vector<double> at_ns;      ///< of the copy's processor time from where it was made, in order; the first is 0
    std::function<bool()> goes_on;  ///< asked before each further moment, and every millisecond of a run
    /// Afterwards: what is wanted of which regions' entries, as long as there is time.
    std::function<std::vector<EntryWish>()> entries;
};

/// Windows of copies, one copy after the other, with caches and predictors that know what came before.
class CopyWindows {
  public:
    /// What was met is added to `found`. `in_between` is called every few milliseconds.
    CopyWindows(core::Core& core, const ModelledCpu& cpu, trace::Decoder& decoder, const ModelOptions& options,
                const WatchedRegions& regions, SampledWindows& found, std::function<void()> in_between);

    /// The moments of a copy, the first one where it was made, with when they were. May be none: a life too short for a
    /// window is part of the next one of the same process. `from_start`: it is where its program begins.
    Result<std::vector<WindowFacts>> model(trace::Sample& sample, bool from_start, const Following& following);

    /// From now on so many windows are simulated at a time while others are traced, if nobody hears of them: moments
    /// have them when complete() was called.
    void simulate_beside(unsigned at_a_time) { beside_.allow(at_a_time); }
    /// Waits for what is still simulated of these moments. Those of which nothing came to an end are taken out.
    void complete(std::vector<WindowFacts>& moments);
    /// Whoever hears of what is simulated; it must outlive this.
    void log_to(WindowLog& log) { simulator_.log_to(log); }
    const WindowSimulator& simulator() const { return simulator_; }
    /// The copy that is traced just now; -1: none.
    pid_t copy() const { return copy_; }
    /// That copies have run by themselves, for all of them.
    double native_ns() const { return native_ns_; }
    /// Whether windows of these regions' entries are wanted, where those of one region alone are.
    bool is_wanted(std::uint32_t region) const;
    /// That windows of regions' entries took, all in all.
    double entries_ns() const { return entries_ns_; }
    /// Which regions the windows' facts are of.
    const trace::RegionPaths& region_paths() const { return region_paths_; }
    const std::map<std::uint32_t, trace::SeenEntries>& seen_entries() const { return seen_entries_; }

  private:
    static constexpr std::size_t shortest_window = 1000;  ///< instructions

    /// Recorded instructions of a copy, by number; not yet seen by the caches.
    using Steps = std::vector<trace::Step>;
    /// Its last steps are one; those before it tell of calls.
    struct WindowOfMoment {
        Steps steps;
        std::size_t before = 0;                 ///< of them
        std::optional<process::StackTop> from;  ///< where they begin
    };
    struct Copy;

    bool is_attributed(std::uint32_t path) const;
    bool is_called(std::uint32_t region, const std::string& name, const std::vector<std::string>& marked) const;
    Result<WindowFacts> moment(Copy& copy, bool first, bool from_start);
    Result<bool> go_on(Copy& copy, const Following& following, double run_ns);
    void look_at_memory(const Copy& copy, bool first, bool from_start);
    bool is_varied();
    Result<WindowFacts> simulate(const trace::Trace& window, const CallFollower& calls, bool varied);
    Result<WindowFacts> simulate_here(const trace::Trace& window, const CallFollower& calls, bool varied);
    Result<> add_further_windows(Copy& copy, WindowFacts& facts);
    void join(const Copy& copy, trace::Trace& window);
    Result<> take_entries(Copy& copy, const Following& following);
    void keep_of_moment(Steps& fresh, const std::optional<process::StackTop>& from, std::size_t done,
                        std::vector<WindowOfMoment>& kept) const;
    Result<WindowFacts> simulate_moment(std::vector<WindowOfMoment>& windows, std::size_t done,
                                        const trace::Translator& translator);
    CallFollower calls_of(const Steps& steps, std::size_t before, const trace::Translator& translator) const;
    /// These steps with their instructions alone, numbered anew.
    static trace::Trace trace_of(Steps steps, const trace::Translator& translator);
    bool is_like_sampled(const Steps& steps) const;
    void follow(const Steps& steps, std::size_t count, const trace::Translator& translator);
    /// What was translated of it in an earlier copy, which is not kept any more.
    trace::Translator::Translations translations_of(pid_t process);
    void note(const trace::Traced& traced);
    void note_end(const Copy& copy, trace::EndedEarly early);

    trace::Decoder& decoder_;
    const ModelOptions& options_;
    const WatchedRegions& regions_;
    trace::RegionPaths region_paths_;
    std::map<std::uint32_t, trace::SeenEntries> seen_entries_;  ///< by region
    std::map<std::uint32_t, bool> attributed_paths_;            ///< whether the region asked for is in it
    SampledWindows& found_;
    std::function<void()> in_between_;
    WindowSimulator simulator_;
    WindowsBeside beside_;
    CopyEntries entries_;
    std::uint32_t entries_taken_ = 0;
    const double cycle_ns_;
    bool pages_assumed_ = false, hardly_warm_ = false;
    std::map<pid_t, trace::Trace> joined_;   ///< by process
    std::map<pid_t, std::size_t> followed_;  ///< instructions of each process so far
    std::deque<std::pair<pid_t, trace::Translator::Translations>> translations_;  ///< by process, the latest first
    std::optional<WindowLikeness> sampled_;  ///< of the moment: its first instructions
    std::size_t further_windows_ = 0;        ///< of each moment
    std::size_t moments_ = 0;                ///< so far, for is_varied()
    pid_t copy_ = -1;
    double native_ns_ = 0, entries_ns_ = 0;
};

}  // namespace tmaprobe::model
