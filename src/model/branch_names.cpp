#include "model/branch_names.h"

namespace tmaprobe::model {
namespace {

/// Short jumps stay in their function, whose other parts move with them. How far others go depends on where that lies.
std::uint64_t looks_of(const trace::StaticInstruction& branch) {
    constexpr unsigned short_jump = 2;  // bytes
    std::uint64_t looks = branch.bytes[0] | std::uint64_t{branch.length} << 8;
    if (branch.conditional) looks |= std::uint64_t{branch.bytes[1]} << 16;
    if (branch.conditional && branch.length == short_jump) looks |= std::uint64_t{1} << 24;
    return looks;
}

}  // namespace

std::uint64_t BranchNames::of_branch(const trace::StaticInstruction& branch) {
    const auto [known, is_new] = branches_.try_emplace(branch.address, 0);
    if (is_new) {
        const std::uint64_t looks = looks_of(branch);
        known->second = looks << 32 | ++alike_[looks];
    }
    return known->second;
}

std::uint64_t BranchNames::of_target(std::uint64_t address) {
    return targets_.try_emplace(address, targets_.size() + 1).first->second;
}

}  // namespace tmaprobe::model
