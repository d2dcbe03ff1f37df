#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

struct tmaprobe_region_page_v1;

namespace tmaprobe::process {

/// The file that a program is in, as a shell finds it.
std::string program_file(const std::string& program);

/// Whether a program has marks of include/tmaprobe/region.h in itself: its file has their note. `program`: as a shell
/// finds it. What it loads is not looked at.
bool has_region_marks(const std::string& program);

/// What one region has counted on one thread.
struct RegionCounts {
    std::uint32_t region = 0;  ///< index of its name
    std::uint64_t owner = 0;   ///< process << 32 | thread, as these see their numbers
    std::uint64_t begins = 0, iterations = 0, bytes = 0;
    double time_ns = 0, inner_ns = 0;
    std::uint32_t inside = 0;  ///< index of the region that it was first begun in, and 1; 0: in none
    std::uint32_t open = 0, wrong_ends = 0, not_ended = 0;
    double open_ns = 0;  ///< since it was opened, where it is
};

/// An event that each thread with marks counts for itself.
struct CountedEvent {
    std::vector<std::byte> attributes;  ///< a struct perf_event_attr, which its opening needs nothing else for
    std::size_t leader = 0;             ///< index of its group's first event
};

/// What an event has counted between marks.
struct EventSum {
    std::uint64_t value = 0, running_ns = 0;
    std::uint64_t pieces = 0;                   ///< from one reading to the next, in which it had a counter
    std::uint64_t empty = 0, empty_pieces = 0;  ///< two readings that followed each other at once
};

/// What was counted in one region, on all threads; with regions inside.
struct RegionSums {
    std::uint64_t enabled_ns = 0;                  ///< that threads were on a CPU in it, from mark to mark
    std::uint64_t pieces = 0;                      ///< from one mark to the next
    std::uint64_t own_ns = 0, own_pieces = 0;      ///< of these, in no region inside
    std::uint64_t empty_ns = 0, empty_pieces = 0;  ///< readings that followed each other at once
    std::vector<EventSum> events;                  ///< as many as are counted
};

/// What threads have counted for themselves.
struct CountedRegions {
    std::vector<RegionSums> regions;  ///< by number
    std::uint64_t marks_ns = 0;       ///< that readings took
    std::vector<int> refused;         ///< by event: errno with which a thread could not open it; 0: all could
    std::uint64_t threads = 0, threads_refused = 0;  ///< that count, and that could open nothing
    std::uint64_t unread = 0;                        ///< marks of signal handlers that came while counters were read
    std::uint64_t failed = 0;                        ///< readings that gave nothing
    std::uint64_t left_out = 0;                      ///< pieces that there was no room for
};

/// The file that a program's marks write to, and find by an environment variable; it goes away with this.
class RegionPage {
  public:
    /// Errors: system.
    static Result<RegionPage> create();
    RegionPage(RegionPage&& other) noexcept;
    RegionPage& operator=(RegionPage&&) = delete;
    ~RegionPage();

    static constexpr const char* variable = "TMAPROBE_REGIONS";
    const std::string& path() const { return path_; }
    /// Written by others at any time.
    const tmaprobe_region_page_v1& page() const { return *page_; }

    /// Whoever marks asks for no times from now on: they are slow to have, and not the same twice.
    void leave_out_times();
    /// Where marks' own code lies in all processes: begin and end.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> code_of_marks() const;
    /// Of all regions so far, by their number.
    std::vector<std::string> names() const;
    /// Of all threads, until now.
    std::vector<RegionCounts> counts() const;

    /// How many events threads can count.
    static std::size_t most_events();
    /// Threads count these from their first mark on. The first is one of the kernel's own that is there whenever its
    /// thread is on a CPU. `from_user_space`: without system calls where the kernel allows it.
    void count(const std::vector<CountedEvent>& events, bool from_user_space);
    /// Until now; empty: nothing is counted.
    CountedRegions counted() const;

    /// Begins that there was no room for.
    struct LeftOut {
        std::uint64_t regions = 0, depth = 0, threads = 0;
    };
    LeftOut left_out() const;

  private:
    RegionPage() = default;
    double ns_per_tick() const;

    std::string path_;
    tmaprobe_region_page_v1* page_ = nullptr;
    std::uint64_t begun_ticks_ = 0, begun_ns_ = 0;
};

/// While it lives, what this process starts has the variable.
class EnvironmentVariable {
  public:
    EnvironmentVariable(const char* name, const std::string& value);
    EnvironmentVariable(const EnvironmentVariable&) = delete;
    EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
    ~EnvironmentVariable();

  private:
    const char* name_;
};

}  // namespace tmaprobe::process
