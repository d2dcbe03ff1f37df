#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tmaprobe::trace {

/// Which code addresses the table of a traced process has, where jumps that go through a register or a return find
/// their code. Each address has two places (CodeEmitter::first_place, second_place); whoever needs a place moves what
/// is there to its other one, as in cuckoo hashing (R. Pagh, F. Rodler, 2004), so that two addresses in turn at one
/// place do not stop the process each time.
class TargetTable {
  public:
    /// A pair in the table: code for an address.
    struct Pair {
        std::uint64_t place = 0, address = 0, code = 0;  ///< the place as an offset
    };

    /// What has to be written, in this order, so that the address is found. What has no place any more is forgotten:
    /// it stops the process when it is needed again.
    std::vector<Pair> enter(std::uint64_t address, std::uint64_t code);
    /// The code that would be found; none: the process would stop.
    std::optional<std::uint64_t> find(std::uint64_t address) const;
    /// What it has, in no order.
    std::vector<Pair> pairs() const;
    void clear() { pairs_.clear(); }

  private:
    bool is_free(std::uint64_t place, std::uint64_t address) const;
    std::unordered_map<std::uint64_t, Pair> pairs_;  ///< by place
};

}  // namespace tmaprobe::trace
