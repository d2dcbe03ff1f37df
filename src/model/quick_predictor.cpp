#include "model/quick_predictor.h"

#include <array>

#include "model/predictor_parts.h"

namespace tmaprobe::model {
namespace {

constexpr std::array<unsigned, 4> lengths{8, 20, 60, 200};
constexpr unsigned target_bits = 12;

}  // namespace

QuickPredictor::QuickPredictor(unsigned entries)
    : history_(lengths),
      directions_({lengths.size(), 2 * std::size_t{entries}}, {}),
      targets_(std::size_t{1} << target_bits) {}

bool QuickPredictor::conditional(std::uint64_t branch, bool taken) {
    const auto [foretold, is_new] = directions_.meet(history_, branch, taken);
    history_.add(taken);
    recent_ = recent_ << 1 | (taken ? 1 : 0);
    return !is_new && foretold == core::Foretold::wrong;
}

bool QuickPredictor::indirect(std::uint64_t branch, std::uint64_t target) {
    constexpr std::uint64_t looked_at = 0xffff;
    constexpr unsigned footprint_bits = 4;
    std::uint64_t& known =
        targets_[((branch ^ (recent_ & looked_at) * golden_factor) * second_factor) >> (64 - target_bits)];
    const bool missed = known != 0 && known != target;
    known = target;
    const std::uint64_t footprint = (target * golden_factor) >> (64 - footprint_bits);
    recent_ = recent_ << footprint_bits ^ footprint;
    for (unsigned bit = 0; bit < footprint_bits; ++bit) history_.add((footprint >> bit & 1) != 0);
    return missed;
}

}  // namespace tmaprobe::model
