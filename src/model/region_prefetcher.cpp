#include "model/region_prefetcher.h"

#include "base/hash.h"

namespace tmaprobe::model {

RegionPrefetcher::Pattern& RegionPrefetcher::pattern_of(std::uint64_t instruction) {
    Pattern& pattern = patterns_[(instruction * golden_factor) >> 56];
    if (pattern.instruction != instruction) pattern = {instruction};
    return pattern;
}

void RegionPrefetcher::learn(const Region& region) {
    if (!region.instruction) return;
    Pattern& pattern = pattern_of(region.instruction);
    const Lines high = pattern.high, low = pattern.low, asked = region.asked;
    pattern.high = (asked & (high | low)) | (~asked & high & low);
    pattern.low = (asked & (~low | (high & low))) | (~asked & high & ~low);
}

RegionPrefetcher::Lines RegionPrefetcher::begin(std::uint64_t line, std::uint64_t instruction) {
    Region& region = regions_[next_region_];
    learn(region);
    region = {first_of(line), instruction, Lines{1} << before_};
    for (std::uint64_t bucket = region.first / lines_of_bucket; bucket <= (line + after_) / lines_of_bucket; ++bucket)
        region_of_[bucket % region_of_.size()] = static_cast<std::uint8_t>(next_region_);
    next_region_ = (next_region_ + 1) % regions_.size();
    return pattern_of(instruction).high & ~(Lines{1} << before_);
}

RegionPrefetcher::Lines RegionPrefetcher::note(std::uint64_t line, std::uint64_t instruction, bool missed) {
    if (before_ + after_ == 0) return 0;
    Region& region = regions_[region_of_[line / lines_of_bucket % region_of_.size()]];
    if (const std::uint64_t at = line - region.first; at <= before_ + after_) {
        region.asked |= Lines{1} << at;
        return 0;
    }
    return missed ? begin(line, instruction) : 0;
}

}  // namespace tmaprobe::model
