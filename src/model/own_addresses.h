#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/page_map.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// Addresses of a program as they would be if every run of it had the same: each mapping gets a place of its own, in
/// the order in which they are first met, near to those that it was near to. Where the kernel put a mapping, which is
/// chance, then decides no set of a cache and no entry of a predictor.
class OwnAddresses {
  public:
    /// Without mappings: addresses stay as they are.
    OwnAddresses() = default;
    /// A stretch of addresses, and where its begin is to lie.
    struct Placement {
        std::uint64_t begin = 0, end = 0, place = 0;
    };
    /// As somebody else has it, by address, and in the order of their places, too; code is moved on by `code_shift`
    /// from where data in the same place are.
    OwnAddresses(const std::vector<Placement>& placements, std::uint64_t code_shift);
    /// Of a process's /proc/PID/maps, and in which pages they are.
    OwnAddresses(const std::string& maps, const trace::PageMap& pages);

    std::uint64_t own(std::uint64_t address);
    /// The same of what lies in a mapping that own() has met; 0: not met.
    std::uint64_t own_if_met(std::uint64_t address) const;
    /// The address that own() was given.
    std::uint64_t real(std::uint64_t own_address) const;
    /// The same of an instruction's address.
    std::uint64_t real_code(std::uint64_t own_address) const { return real(own_address - code_shift_); }
    trace::StaticInstruction own(trace::StaticInstruction instruction);
    trace::Step own(trace::Step step);
    bool empty() const { return areas_.empty(); }

  private:
    struct Area {
        std::uint64_t begin = 0, end = 0;
        std::uint64_t place = 0;  ///< of its begin; 0: not met yet
        bool huge_pages = false;
    };
    std::vector<Area> areas_;       ///< by address
    std::vector<std::size_t> met_;  ///< by place
    std::size_t last_ = 0;          ///< most accesses are to the area of the one before
    /// Mappings whose addresses have the same upper bits: a program and its heap, its libraries and stacks.
    struct Neighbourhood {
        std::uint64_t upper_bits = 0, next_place = 0;
    };
    std::vector<Neighbourhood> neighbourhoods_;  ///< in the order in which they were met
    std::uint64_t code_shift_ = 0;

    Neighbourhood& neighbourhood_of(std::uint64_t address);
};

}  // namespace tmaprobe::model
