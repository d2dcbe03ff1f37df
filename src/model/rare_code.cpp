#include "model/rare_code.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tmaprobe::model {
namespace {

/// Blocks with less of a run than this are left to chance: a hundredth of it would not be seen.
constexpr double least_share = 0.0003;
constexpr std::size_t least_executions = 30;
/// Windows in which each block is to be met.
constexpr double windows_wanted = 16;
constexpr std::size_t most_wanted = 64;

}  // namespace

RareCode::RareCode(const std::vector<trace::Translator::BlockCount>& blocks, std::uint64_t instructions) {
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> sums;  // executions, instructions
    for (const auto& block : blocks) {
        auto& [executions, executed] = sums[block.start];
        executions += block.executions;
        executed += block.executions * block.instructions;
    }
    for (const auto& [start, sum] : sums) {
        const double share = static_cast<double>(sum.second) / static_cast<double>(instructions);
        if (share >= least_share && sum.first >= least_executions) blocks_[start].share = share;
    }
}

void RareCode::met(const std::vector<trace::StaticInstruction>& instructions, const std::vector<trace::Step>& window) {
    std::vector<bool> seen(instructions.size());
    for (const trace::Step& step : window) {
        if (seen[step.instruction]) continue;
        seen[step.instruction] = true;
        const auto block = blocks_.find(instructions[step.instruction].address);
        if (block != blocks_.end()) ++block->second.windows;
    }
}

std::vector<std::uint64_t> RareCode::wanted(double progress) const {
    std::vector<std::pair<double, std::uint64_t>> by_share;
    for (const auto& [start, block] : blocks_)
        if (static_cast<double>(block.windows) < windows_wanted * progress) by_share.emplace_back(block.share, start);
    std::ranges::sort(by_share, std::greater{});
    if (by_share.size() > most_wanted) by_share.resize(most_wanted);
    std::vector<std::uint64_t> starts;
    for (const auto& [share, start] : by_share) starts.push_back(start);
    return starts;
}

}  // namespace tmaprobe::model
