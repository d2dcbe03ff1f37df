#pragma once

// Loops that are sent round from the micro-op queue.

#include <array>
#include <cstdint>

#include "events/cpu_geometry.h"

namespace tmaprobe::model::core {

/// Knows a loop by its taken branches, which go the same way round after round, calls and loops within it included.
/// While it is sent from the queue nothing is foretold or fetched; the first branch that goes another way is
/// mispredicted, and ends that.
class LoopStream {
  public:
    static constexpr unsigned too_many = 1000;  ///< windows, of what is never sent
    explicit LoopStream(const events::LoopStreaming& facts) : facts_(facts) {}

    bool streams() const { return streams_; }
    /// Each branch in program order, where it went, and over how many windows of the op cache the code since the taken
    /// one before it goes. Whether it goes another way than what is sent.
    bool leaves(std::uint64_t branch, bool taken, std::uint64_t target, unsigned windows);

  private:
    static constexpr std::size_t remembered = 2 * events::LoopStreaming::most_blocks;
    struct Taken {
        std::uint64_t branch = 0, target = 0;
        unsigned windows = 0;
    };
    const Taken& before(std::size_t branches) const { return taken_[(count_ - branches) % remembered]; }
    bool is_same(std::size_t branches, std::uint64_t branch, std::uint64_t target) const {
        return before(branches).branch == branch && before(branches).target == target;
    }
    std::size_t last_time(std::uint64_t branch, std::uint64_t target) const;
    bool fits() const;

    const events::LoopStreaming facts_;
    std::array<Taken, remembered> taken_{};
    std::size_t count_ = 0;
    std::size_t round_ = 0;    ///< taken branches of a round; 0: none is known
    std::size_t as_then_ = 0;  ///< in a row, which went as they did a round before
    bool streams_ = false;
};

}  // namespace tmaprobe::model::core
