#pragma once

#include <cstdint>
#include <optional>

#include "counters/model/shared_rows.h"

namespace tmaprobe::counters::model {

/// The keys that a cache or translation buffer holds, eight bytes each.
class SetAssociative {
  public:
    enum class Replacement { least_recent, random };

    /// `ways` -1: one set. No entries: holds nothing, ever.
    SetAssociative(std::uint64_t entries, int ways, Replacement replacement = Replacement::least_recent);
    /// Whether the key is there; it becomes the most recent one of its set.
    bool find(std::uint64_t key);
    /// Puts in a key that is not there; the key that had to make room.
    std::optional<std::uint64_t> insert(std::uint64_t key);
    /// Takes out a key and leaves its place free.
    void erase(std::uint64_t key);

  private:
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};
    /// Where in its set the key is; the number of ways when it is not there.
    std::size_t place_of(std::uint64_t key) const;
    std::size_t choice();

    std::uint64_t sets_ = 0;
    std::size_t ways_ = 0;
    Replacement replacement_;
    std::uint64_t random_ = 0x9e3779b97f4a7c15u;
    SharedRows<std::uint64_t> keys_;  ///< a row for each set; in each set the most recent first, free places last
};

}  // namespace tmaprobe::counters::model
