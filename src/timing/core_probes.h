#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tmaprobe::timing {

/// A loop whose time tells one property of the core: a chain whose steps wait for one another tells a latency, steps
/// that do not wait tell a width.
struct CoreProbe {
    enum class Tells : std::uint8_t {
        latency,  ///< cycles per step
        width     ///< steps per cycle
    };
    std::string_view fact;  ///< as events/calibration.json names it
    Tells tells = Tells::latency;
    double steps = 1;         ///< in one turn of the loop
    double instructions = 1;  ///< in one turn
    std::string_view needs;   ///< a feature as in machine::Host::features; empty: none
    void (*run)(std::uint64_t turns) = nullptr;
};

/// All of this architecture; none where they are not written for it.
std::span<const CoreProbe> core_probes();

/// Steps with a conditional branch each, decided by one bit of `decisions` (a byte per step, as many as a power of
/// two). Decided at random and never repeated in time, half of the branches are mispredicted.
void run_branches(const unsigned char* decisions, std::uint64_t count, std::uint64_t steps);

}  // namespace tmaprobe::timing
