#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "counters/slot_attribution.h"
#include "record/record.h"
#include "symbols/locations.h"

namespace tmaprobe::experiments {

/// One instruction of a program: wherever a process had it, the same.
struct CodePoint {
    std::string module;         ///< path of the file; "[vdso]"; empty: of no file
    std::uint64_t offset = 0;   ///< in the file; of no file: the address
    pid_t process = 0;          ///< of no file: whose
    symbols::Location located;  ///< what its symbols say
};

/// All instructions that slots are put down to.
class CodePoints {
  public:
    /// The number of the instruction at an address of a window's process.
    std::size_t number(const counters::SlotAttribution& attribution, const counters::AttributedWindow& window,
                       std::uint64_t address);
    /// The same of an address of a process that has this code.
    std::size_t number(const std::vector<process::CodeMapping>& code, pid_t process, std::uint64_t address);
    /// The same of an instruction that has its number; nothing for another.
    std::optional<std::size_t> find(const counters::SlotAttribution& attribution,
                                    const counters::AttributedWindow& window, std::uint64_t address) const;
    /// Looks all of them up, each module once.
    void locate(std::vector<record::Warning>& warnings);

    const CodePoint& operator[](std::size_t number) const { return points_[number]; }
    std::size_t size() const { return points_.size(); }

  private:
    void locate_made_code();

    std::vector<CodePoint> points_;
    std::map<std::tuple<std::string, pid_t, std::uint64_t>, std::size_t> numbers_;
    std::map<std::string, bool> replaced_;  ///< modules that were taken away or replaced while they ran
};

}  // namespace tmaprobe::experiments
