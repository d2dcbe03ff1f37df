#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tmaprobe::trace {

/// Stops a copy at a few places by the processor's own debug registers, so that it runs at its full speed until then.
/// x86-64 only; not every virtual machine lets them be used.
class HardwareWatch {
  public:
    struct Point {
        std::uint64_t address = 0;
        bool executes = false;  ///< stop before this instruction; else behind a store to these eight bytes
    };
    static constexpr std::size_t most = 4;

    explicit HardwareWatch(pid_t copy) : copy_(copy) {}
    HardwareWatch(const HardwareWatch&) = delete;
    HardwareWatch& operator=(const HardwareWatch&) = delete;
    ~HardwareWatch() { clear(); }

    /// Instead of those before. The copy stands. False: it cannot be had here.
    bool set(const std::vector<Point>& points);
    void clear();
    /// After a trap: which of the points it was; none: something else.
    std::optional<std::size_t> met();

  private:
    pid_t copy_;
    std::size_t count_ = 0;
};

}  // namespace tmaprobe::trace
