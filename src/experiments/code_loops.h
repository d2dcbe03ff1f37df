#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "experiments/loop_forest.h"

namespace tmaprobe::experiments {

/// A loop of a program, and where its source is.
struct CodeLoop {
    std::size_t around = FlowLoop::none;  ///< index of the loop that it is directly in
    unsigned depth = 1;                   ///< 1: in no other
    std::size_t head = 0;                 ///< the instruction that it is entered at
    symbols::Frame frame;                 ///< the innermost function that all of it is of, and its first line there
    std::string called_function;          ///< empty: the same
    unsigned last_line = 0;               ///< in the frame's file; 0: not known
};

/// The loops of all code that was executed, found by the ways that execution took.
class CodeLoops {
  public:
    /// Gives the instructions of a window's runs their numbers, too: before they are located.
    void add(const counters::SlotAttribution& attribution, const counters::AttributedWindow& window,
             CodePoints& points);
    /// When all are located. A loop comes after the one around it.
    std::vector<CodeLoop> find(const CodePoints& points);
    /// Of each instruction: the loop that it is directly in, or FlowLoop::none. After find().
    const std::vector<std::size_t>& innermost() const { return innermost_; }

  private:
    struct Run {
        std::size_t begin = 0, last = 0, next = FlowLoop::none;  ///< instructions

        auto operator<=>(const Run&) const = default;
    };
    std::vector<Run> runs_;
    std::vector<std::size_t> innermost_;
};

}  // namespace tmaprobe::experiments
