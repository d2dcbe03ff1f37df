#pragma once

// What a load has to wait for when an older store to the same place is still in the pipeline.

#include <array>
#include <cstdint>
#include <vector>

#include "counters/model/core/instruction_pool.h"

namespace tmaprobe::counters::model::core {

/// Gives loads a dependency on the latest store to the same eight bytes, as through a register of their own.
/// LLVM knows no addresses; registers that no user code names (debug and control registers, tiles) carry the
/// dependency, one for each of the last places that were stored to.
class StoreForwarding {
  public:
    StoreForwarding(const Target& target, const CoreParameters& parameters);
    /// Before dispatch, in program order.
    void connect(Dynamic& dynamic);

  private:
    /// The register that stands for the place; 0: nothing was stored there lately.
    unsigned carrier_of(std::uint64_t place) const;
    unsigned new_carrier(std::uint64_t place);

    const CoreParameters& parameters_;
    std::vector<unsigned> carriers_;     ///< registers
    std::vector<std::uint64_t> places_;  ///< of each carrier: address / 8
    std::size_t next_ = 0;
};

}  // namespace tmaprobe::counters::model::core
