#include "model/call_follower.h"

namespace tmaprobe::model {

CallFollower::CallFollower() : calls_(1), returns_to_(1) {}

void CallFollower::step(const trace::StaticInstruction& instruction, std::uint64_t next) {
    if (instruction.returns) return come_back(next);
    const std::uint64_t after = instruction.address + instruction.length;
    // A call of what comes next asks for its own address and does not return.
    if (!instruction.call || next == after) return;
    const auto [call, is_new] =
        known_.try_emplace({current_, instruction.address}, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
        calls_.push_back({current_, 0, instruction.address});
        returns_to_.push_back(after);
    }
    current_ = call->second;
}

void CallFollower::come_back(std::uint64_t next) {
    std::uint32_t call = current_;
    while (calls_[call].from != Call::none && returns_to_[call] != next) call = calls_[call].from;
    if (calls_[call].from != Call::none) {
        current_ = calls_[call].from;
        return;
    }
    // Out of what was called before, or, where calls are left behind, to somewhere else altogether.
    Call outside{Call::none, calls_[call].returned + 1, next};
    if (call != current_ || calls_[call].returned == Call::lost) outside.returned = Call::lost;
    if (outside.returned == Call::lost) outside.site = 0;
    const auto [known, is_new] =
        known_.try_emplace({Call::none - outside.returned, outside.site}, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
        calls_.push_back(outside);
        returns_to_.push_back(0);
    }
    current_ = known->second;
}

}  // namespace tmaprobe::model
