#pragma once

// Which port is busy in which cycle.

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bits_set.h"
#include "model/core/descriptor.h"

namespace tmaprobe::model::core {

/// How a core that binds micro-ops to ports at renaming chooses one (events::PortBinding).
struct PortChoice {
    unsigned difference = 0;  ///< of more micro-ops than wait for the least loaded port, at which that is taken
    unsigned counts_age = 0;  ///< cycles; below Ports::remembered_cycles
    std::array<std::vector<unsigned>, most_ports + 1> places;  ///< by the number of ports; none: the least loaded
};

/// Ports of which a micro-op is bound to one group: those of a scheduler each, 64 at most.
class PortGroups {
  public:
    explicit PortGroups(std::vector<std::uint64_t> groups = {});
    /// A bit for each group that has any of the ports.
    std::uint64_t with(std::uint64_t ports) const {
        std::uint64_t found = 0;
        for (; ports; ports &= ports - 1) found |= of_port_[static_cast<std::size_t>(std::countr_zero(ports))];
        return found;
    }
    std::uint64_t ports(std::size_t group) const { return groups_[group]; }

  private:
    std::vector<std::uint64_t> groups_;
    std::array<std::uint64_t, most_ports> of_port_{};
};

/// A window of future cycles of each port. Instructions come in program order and take the first cycle that is left,
/// so that the oldest goes first; a younger one fills the gaps.
class Ports {
  public:
    static constexpr std::size_t remembered_cycles = 8;
    /// `twice`: each has a twin; cores of up to `most_ports / 2` ports.
    explicit Ports(bool twice = false, PortChoice choice = {}, const std::vector<std::uint64_t>& groups = {})
        : twice_(twice), choice_(std::move(choice)), groups_(groups) {}
    /// No cycle before this one will be asked for any more.
    void advance(std::uint64_t cycle);
    /// Takes one cycle of one of the ports, at `ready` or as soon as there is one; none, where that is after `until`.
    std::uint64_t take(std::uint64_t ports, std::uint64_t ready, std::uint64_t until = ~std::uint64_t{0});
    /// Where a core chooses before it issues: those of the ports that a micro-op is bound to, which are of one group.
    /// The least loaded; among equals by turns.
    std::uint64_t bound(std::uint64_t ports);
    /// Whether each slot of a cycle chooses among so many ports.
    bool chooses_among(std::uint64_t ports) const { return !places(ports).empty(); }
    /// The port of an operation in this slot of its cycle, where chooses_among().
    std::uint64_t bound_in_slot(std::uint64_t ports, std::size_t slot) const;
    /// Where a group takes one micro-op a cycle at renaming: those of the ports whose group took none in this one.
    std::uint64_t open(std::uint64_t ports, std::uint64_t cycle) const {
        return cycle == taken_in_ ? ports & ~taken_ : ports;
    }
    /// The groups of these ports have taken one.
    void close(std::uint64_t ports, std::uint64_t cycle);

  private:
    static constexpr std::size_t words = 32, word_bits = 64, window = words * word_bits;
    std::uint64_t& word(std::size_t port, std::uint64_t cycle) { return busy_[cycle / word_bits % words][port]; }
    std::uint32_t load(std::uint64_t ports) const;
    const std::vector<unsigned>& places(std::uint64_t ports) const { return choice_.places[bits_set(ports)]; }
    void forget_until(std::uint64_t cycle);
    void remember(std::uint64_t cycle);
    void want(std::uint64_t ports);

    bool twice_;
    PortChoice choice_;
    PortGroups groups_;
    std::size_t used_ports_ = 0;                       ///< the highest that was taken, and one
    std::array<std::uint32_t, most_ports> waiting_{};  ///< for each, from the floor on; kept where a choice needs it
    std::array<std::array<std::uint32_t, most_ports>, remembered_cycles> waited_{};  ///< as a cycle ended
    std::array<std::size_t, 16> last_chosen_{};  ///< by the first group that there was to choose from
    std::uint64_t taken_ = 0, taken_in_ = 0;     ///< groups that took one at renaming, and in which cycle
    std::uint64_t floor_ = 0;
    /// How much each port was asked for lately: who can choose leaves those to others that cannot.
    std::array<std::uint32_t, most_ports> wanted_{};
    unsigned asked_ = 0;
    std::array<std::uint32_t, most_ports> booked_{};  ///< cycles of each that are taken
    std::array<std::array<std::uint64_t, most_ports>, words> busy_{};
};

}  // namespace tmaprobe::model::core
