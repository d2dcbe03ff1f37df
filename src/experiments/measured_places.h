#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "record/where.h"

namespace tmaprobe::experiments {

/// The shares of samples that were taken on this machine while the command ran, beside what the model says.
class MeasuredPlaces {
  public:
    /// Gives the instructions that samples met their numbers: before they are located.
    MeasuredPlaces(const counters::SlotAttribution& attribution, CodePoints& points);

    /// Of what; nothing where no sample was taken.
    const std::optional<record::PlaceSamples>& about() const { return about_; }
    /// Gives the places that samples met their shares. `place_of`: the place of each instruction.
    void fill(std::vector<record::CodePlace>& places, const std::vector<std::size_t>& place_of) const;

  private:
    std::optional<record::PlaceSamples> about_;
    std::vector<std::pair<std::size_t, double>> weights_;  ///< of instructions
    double all_ = 0, like_so_many_ = 0;                    ///< what they weigh; equal ones that say as much
};

}  // namespace tmaprobe::experiments
