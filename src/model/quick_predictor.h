#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tmaprobe::model {

/// As BranchPredictor, with three tagged tables of up to 60 branches of history: half as good, and many times as quick.
/// What is met first is foretold right. Branches and targets are any numbers that tell them apart.
class QuickPredictor {
  public:
    QuickPredictor();
    /// Whether this branch is mispredicted, which went so. Learns from the answer.
    bool conditional(std::uint64_t branch, bool taken);
    /// `target`: not 0.
    bool indirect(std::uint64_t branch, std::uint64_t target);

  private:
    static constexpr std::size_t tables = 3;
    struct Entry {
        std::uint16_t tag = 0;
        std::uint8_t counter = 0, use = 0;
    };

    std::vector<std::uint8_t> by_branch_;
    std::array<std::vector<Entry>, tables> tagged_;
    std::vector<std::uint64_t> targets_;
    std::uint64_t history_ = 0;
};

}  // namespace tmaprobe::model
