#include "model/branch_predictor.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t table_bits = 14, table_size = std::size_t{1} << table_bits;
constexpr std::uint64_t history_mask = (1u << 24) - 1;
constexpr std::size_t return_stack = 32;
constexpr std::uint8_t weakly_taken = 2, strongest = 3;

std::size_t hash(std::uint64_t value) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>((value * golden) >> (64 - table_bits));
}

void train(std::uint8_t& counter, bool up) {
    if (up && counter < strongest) ++counter;
    if (!up && counter > 0) --counter;
}

}  // namespace

BranchPredictor::BranchPredictor()
    : local_(table_size, 1, weakly_taken),
      global_(table_size, 1, weakly_taken),
      chooser_(table_size, 1, weakly_taken),
      targets_(table_size, 1, 0) {}

bool BranchPredictor::mispredicts(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    bool missed = false;
    if (branch.conditional) {
        missed = conditional(branch.address, taken);
        history_ = ((history_ << 1) | (taken ? 1 : 0)) & history_mask;
    } else if (branch.returns) {
        missed = returns_.empty() || returns_.back() != target;
        if (!returns_.empty()) returns_.pop_back();
    } else if (branch.indirect) {
        missed = indirect(branch.address, target);
    }
    if (branch.call) {
        if (returns_.size() == return_stack) returns_.erase(returns_.begin());
        returns_.push_back(branch.address + branch.length);
    }
    return missed;
}

bool BranchPredictor::conditional(std::uint64_t address, bool taken) {
    std::uint8_t& local = *local_.change(hash(address));
    std::uint8_t& global = *global_.change(hash(address ^ (history_ << 24)));
    std::uint8_t& chooser = *chooser_.change(hash(address));
    const bool by_local = local >= weakly_taken, by_global = global >= weakly_taken;
    const bool predicted = chooser >= weakly_taken ? by_global : by_local;
    if (by_local != by_global) train(chooser, by_global == taken);
    train(local, taken);
    train(global, taken);
    return predicted != taken;
}

bool BranchPredictor::indirect(std::uint64_t address, std::uint64_t target) {
    std::uint64_t& last = *targets_.change(hash(address ^ (history_ << 24)));
    const bool missed = last != target;
    last = target;
    return missed;
}

}  // namespace tmaprobe::model
