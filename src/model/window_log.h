#pragma once

#include <cstdint>
#include <functional>

#include "trace/trace.h"

namespace tmaprobe::model {

/// Hears of all that a WindowSimulator is given, in order: whoever gives another one the same has the same windows.
class WindowLog {
  public:
    virtual ~WindowLog() = default;
    /// In which pages the addresses from now on are: bytes of the page at an address.
    virtual void pages(std::function<std::uint64_t(std::uint64_t)> page_bytes) = 0;
    /// What follows is another moment, of a program with so many bytes in memory.
    virtual void moment(std::uint64_t resident_bytes) = 0;
    /// One instruction that was executed, for the caches. Its number may be another one's in another moment.
    virtual void step(const trace::StaticInstruction& instruction, const trace::Step& step) = 0;
    /// A window; returns its number, from 0. `inside`: whether a path of regions (trace::Step::regions) is in the one
    /// that is asked about; empty: none is.
    virtual std::uint32_t window(const trace::Trace& trace, const std::function<bool(std::uint32_t path)>& inside) = 0;
};

}  // namespace tmaprobe::model
