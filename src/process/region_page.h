#pragma once

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
