#pragma once

#include <array>
#include <vector>

#include "base/random.h"
#include "events/core_error.h"
#include "model/window_facts.h"

namespace tmaprobe::model {

enum class PartOfCore { front_end, speculation, back_end };

/// What top-down analysis puts the slots of a cause down to; retiring ones are the back end's, which holds them up.
PartOfCore part_of(record::SlotCause cause);

/// How far off each part is taken to be: from -1, as much faster as it may be, to 1, as much slower.
struct CoreOff {
    double front_end = 0, speculation = 0, back_end = 0;
};

/// Any of those that it may be, each as likely.
CoreOff draw_core(Random& random);

/// The cores at the edge of those that it may be: all of it slower or faster, and each part alone.
inline constexpr std::array<CoreOff, 8> outermost_cores{
    {{1, 1, 1}, {-1, -1, -1}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}};

/// What of a sum's cycles another core changes.
struct CyclesByCore {
    double cycles = 0;    ///< as modelled
    CoreOff more, fewer;  ///< cycles of each part where it is as much slower, or faster, as it may be

    double with(const CoreOff& off) const;
};
CyclesByCore cycles_by_core(const Facts& facts, const events::CoreError& error);

/// Sums over some instructions as they would be if the causes of slots of each part took as much more or less than
/// modelled. The instructions and what is counted of them stay, but for mispredictions, which go with their slots;
/// cycles of a kind go with the slots of that kind. Sums without causes stay as they are.
Facts with_core_error(const Facts& facts, const events::CoreError& error, const CoreOff& off);

/// What a sum would be with another core: all of it slower or faster, and each part alone. Nothing for a sum without
/// causes, and where nothing is known of errors.
std::vector<FactVariation> core_variations(const Facts& sum, const events::CoreError& error);

}  // namespace tmaprobe::model
