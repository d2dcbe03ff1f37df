#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "counters/perf/time_profile.h"
#include "model/window_facts.h"

namespace tmaprobe::model {

/// How often code was met at looks that are spread evenly over processor time: by process and address.
using CodeLooks = std::map<pid_t, std::map<std::uint64_t, std::uint64_t>>;
/// The looks at a process one after the other; none where that is not known.
using LooksInOrder = std::function<const std::vector<counters::perf::TimeProfile::Look>&(pid_t)>;

/// Of a process; with fewer they decide nothing.
inline constexpr std::uint64_t fewest_looks = 30;
/// How many bytes of code are taken for one piece, where it was met at these addresses: 256, or 64 or 16 in a program
/// of so few pieces that one of the larger would have several of its loops.
std::uint64_t bytes_of_piece(const std::set<std::uint64_t>& addresses);

/// What looks say of moments.
struct LookedAt {
    double looks = 0;  ///< at processes of which there are moments
    double unmet = 0;  ///< the share of them at code that no moment has
};

/// Looks are many and cheap, moments are few and dear: moments of the same code are of one kind (WindowFacts::kind),
/// and where a process was met tells what each stands for. In order, a look is one more for each moment by how likely
/// it is of that one: by how much of that code its kind has, and how near it is. So phases end where looks say that
/// they do. Without an order, the kinds of a process are given the shares of its time that explain best where it was
/// met, and moments of a kind keep their proportions. A process with few looks is left as it is.
LookedAt weigh_by_looks(const CodeLooks& looks, std::vector<WindowFacts>& moments, const LooksInOrder& in_order = {});

/// Moments that were not simulated with what is not known changed, too, have the variations that others of their kind
/// have, or where there are none, others: vary_alike().
void vary_as_others(std::vector<WindowFacts>& moments);

}  // namespace tmaprobe::model
