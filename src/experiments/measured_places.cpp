#include "experiments/measured_places.h"

#include <cmath>

#include "base/statistics.h"

namespace tmaprobe::experiments {

MeasuredPlaces::MeasuredPlaces(const counters::SlotAttribution& attribution, CodePoints& points) {
    if (!attribution.samples || attribution.samples->about.taken == 0) return;
    const counters::CodeSamples& samples = *attribution.samples;
    record::PlaceSamples about = samples.about;
    double not_placed = 0;
    for (const counters::ProcessSamples& process : samples.processes)
        for (std::size_t at = 0; at + 1 < process.numbers.size(); at += 2) {
            const std::uint64_t address = process.numbers[at];
            const auto weight = static_cast<double>(process.numbers[at + 1]);
            if (process::mapping_at(process.code, address)) {
                weights_.emplace_back(points.number(process.code, process.process, address), weight);
                all_ += weight;
            } else {
                not_placed += weight;
            }
        }
    if (all_ + not_placed <= 0) return;
    about.not_placed =
        static_cast<std::uint64_t>(std::llround(not_placed / (all_ + not_placed) * static_cast<double>(about.taken)));
    // Of unequal ones, as many as say as much.
    like_so_many_ = std::floor(all_ / samples.weight_of_a_sample);
    about_ = std::move(about);
}

void MeasuredPlaces::fill(std::vector<record::CodePlace>& places, const std::vector<std::size_t>& place_of) const {
    if (like_so_many_ <= 0) return;
    std::vector<double> met(places.size(), 0);
    for (const auto& [point, weight] : weights_) met[place_of[point]] += weight;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (met[i] <= 0) continue;
        const double share = met[i] / all_;
        const ProportionInterval bounds = proportion_interval(share, like_so_many_);
        places[i].measured = {share, bounds.low, bounds.high};
    }
}

}  // namespace tmaprobe::experiments
