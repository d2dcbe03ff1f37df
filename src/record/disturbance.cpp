#include "record/disturbance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/statistics.h"

namespace tmaprobe::record {
namespace {

/// How each cause is said of a repetition, and remedied. {0} is what was left in percent, {1} what was
/// lost or changed.
struct Words {
    DisturbanceCause cause;
    const char* one;      ///< of one repetition
    const char* many;     ///< of several, before the sizes
    const char* size;     ///< "had it 3% of the time"
    const char* extreme;  ///< the worst one: "3%"; empty where all are alike
    const char* remedy;
};

constexpr const char* quiet_cpu = "stop what else runs there, or name a quieter CPU with --cpu";
constexpr std::array words{
    Words{DisturbanceCause::waited_for_cpu, "waited for the CPU", "the thread waited for its CPU",
          "had it {0:.0f}% of the time", "{0:.0f}%", quiet_cpu},
    Words{DisturbanceCause::partner_waited, "another thread of the kernel waited for its CPU",
          "another thread of the kernel waited for its CPU", "had it {0:.0f}% of the time", "{0:.0f}%", quiet_cpu},
    Words{DisturbanceCause::stolen, "the hypervisor took the CPU away", "the hypervisor took the CPU away",
          "for {1:.0f}% of the time", "{1:.0f}%", "the host is oversubscribed: try again later, or on another machine"},
    Words{DisturbanceCause::interrupted, "the CPU did something else",
          "the CPU did something else (interrupts, page faults)", "for {1:.0f}% of the time", "{1:.0f}%",
          "name a CPU that takes fewer interrupts with --cpu"},
    Words{DisturbanceCause::issue_slots_shared, "another hyperthread of this core was busy",
          "another hyperthread of this core was busy", "it took {1:.0f}% of the core's issue slots", "{1:.0f}%",
          "a guest may not see who that is: another CPU with --cpu, or another time"},
    Words{DisturbanceCause::reorder_buffer_halved, "another hyperthread of this core was active",
          "another hyperthread of this core was active", "the reorder buffer was halved", "",
          "a guest may not see who that is: another CPU with --cpu, or another time"},
    Words{DisturbanceCause::clock_changed, "the core clock changed", "the core clock changed", "by {2:+.0f}%",
          "{2:+.0f}%",
          "a fixed clock helps (cpupower frequency-set -g performance), and so does waiting until the machine is cool"},
};

const Words& words_of(DisturbanceCause cause) {
    return *std::find_if(words.begin(), words.end(), [&](const Words& candidate) { return candidate.cause == cause; });
}

std::string size_text(const char* pattern, double size) {
    const double percent = 100 * size, left = std::max(0.0, 100 - percent);
    return fmt::format(fmt::runtime(pattern), left, percent, percent);
}

}  // namespace

std::vector<DisturbedBy> count_causes(const std::vector<Disturbance>& disturbances) {
    std::vector<DisturbedBy> causes;
    for (const Words& candidate : words) {
        // A clock goes up and down: the median of both would be no size at all.
        std::vector<double> magnitudes;
        double most = 0;
        for (const auto& disturbance : disturbances) {
            if (disturbance.cause != candidate.cause) continue;
            magnitudes.push_back(std::fabs(disturbance.size));
            if (std::fabs(disturbance.size) >= std::fabs(most)) most = disturbance.size;
        }
        if (magnitudes.empty()) continue;
        const int repetitions = static_cast<int>(magnitudes.size());
        causes.push_back({candidate.cause, repetitions, std::copysign(median(std::move(magnitudes)), most), most});
    }
    std::stable_sort(causes.begin(), causes.end(),
                     [](const auto& one, const auto& other) { return one.repetitions > other.repetitions; });
    return causes;
}

std::string describe(const Disturbance& disturbance) {
    return fmt::format("{}: {}", words_of(disturbance.cause).one,
                       size_text(words_of(disturbance.cause).size, disturbance.size));
}

std::string describe(const std::vector<DisturbedBy>& causes) {
    std::string text;
    for (const auto& [cause, repetitions, typical, most] : causes) {
        const Words& said = words_of(cause);
        const std::string extreme = size_text(said.extreme, most);
        const bool alike = extreme == size_text(said.extreme, typical);
        text += fmt::format("{}in {} {} ({}{})", text.empty() ? "" : ", ", repetitions, said.many,
                            size_text(said.size, typical), alike ? "" : ", at worst " + extreme);
    }
    return text;
}

std::string remedy(const std::vector<DisturbedBy>& causes) {
    return causes.empty() ? "" : words_of(causes.front().cause).remedy;
}

}  // namespace tmaprobe::record
