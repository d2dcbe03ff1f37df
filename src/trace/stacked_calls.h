#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace tmaprobe::trace {

/// Follows the calls of a thread from its first on, by where their return addresses lie on the stack: code that leaves
/// calls without returning (longjmp, exceptions) does not lead it astray. It costs a few instructions for each call;
/// what the calls under way are is found out when it is asked for.
class StackedCalls {
  public:
    /// A call in another one.
    struct Call {
        std::uint32_t from = 0;  ///< number of the path that it was made in
        std::uint64_t site = 0;  ///< address of the call
    };

    /// The thread called from `site`; its return address lies at `slot`.
    void call(std::uint64_t slot, std::uint64_t site) {
        while (!under_way_.empty() && under_way_.back().slot <= slot) under_way_.pop_back();
        under_way_.push_back({slot, site, unknown});
    }
    /// It returned to the address that lay at `slot`.
    void returned(std::uint64_t slot) {
        while (!under_way_.empty() && under_way_.back().slot <= slot) under_way_.pop_back();
    }
    /// Another program has begun.
    void clear() { under_way_.clear(); }

    /// A number for the calls under way; 0: none are known, or there are too many different ones. A call site that is
    /// among them again stands for what it was before: a function that calls itself, by whatever way, has one path.
    std::uint32_t path();
    /// By number; the first is none.
    const std::vector<Call>& paths() const { return paths_; }

  private:
    static constexpr std::uint32_t unknown = ~std::uint32_t{0};
    struct UnderWay {
        std::uint64_t slot = 0, site = 0;
        std::uint32_t path = unknown;
    };
    struct Hash {
        std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& call) const {
            return (call.first * golden_factor) ^ (call.second * golden_factor >> 7);
        }
    };
    std::uint32_t number_of(std::uint32_t from, std::uint64_t site);

    std::vector<UnderWay> under_way_;  ///< the innermost last
    std::vector<Call> paths_{Call{}};
    std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t, Hash> numbers_;
};

}  // namespace tmaprobe::trace
