#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "record/where.h"
#include "trace/allocation_watch.h"

namespace tmaprobe::experiments {

/// Functions of an allocator that the symbol tables of a file name.
std::vector<trace::AllocatorFunction> allocator_functions(const std::string& file);

/// Gives the calls that allocated what windows wait for their numbers: before they are located.
void number_allocating_calls(const counters::SlotAttribution& attribution, CodePoints& points);

/// The functions that allocated blocks, by the number of their calls.
class AllocatingFunctions {
  public:
    AllocatingFunctions(const counters::SlotAttribution& attribution, const CodePoints& points)
        : attribution_(attribution), points_(points) {}
    /// From the one that called the allocator out to main; of a function that is there again, what is between is left
    /// out.
    const std::vector<record::AllocatingFunction>& of(const counters::AttributedWindow& window,
                                                      std::uint32_t allocation);

  private:
    const counters::SlotAttribution& attribution_;
    const CodePoints& points_;
    std::map<std::pair<std::size_t, std::uint32_t>, std::vector<record::AllocatingFunction>> known_;
};

}  // namespace tmaprobe::experiments
