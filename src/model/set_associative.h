#pragma once

#include <cstdint>
#include <optional>

#include "base/hash.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// The keys that a cache or translation buffer holds: eight bytes each, or four where there are so many sets that
/// what tells the keys of one set apart fits (of lines and page table entries below, 43 bits).
class SetAssociative {
  public:
    static constexpr std::size_t any = ~std::size_t{0};  ///< of a set's keys may make room

    /// `ways` -1: one set. No entries: holds nothing, ever. What makes room is one, by chance, of so many of its set
    /// that were used longest ago.
    SetAssociative(std::uint64_t entries, int ways, std::size_t makes_room_among = 1);
    /// Brings the key's set into this machine's caches; the modelled state stays as it is.
    void prepare(std::uint64_t key) const;
    /// Whether the key is there; it becomes the most recent one of its set.
    bool find(std::uint64_t key);
    /// How many keys of its set were used since this one was; nothing: it is not there.
    std::optional<std::size_t> used_since(std::uint64_t key) const;
    std::size_t ways() const { return ways_; }
    /// Puts in a key that is not there; the key that had to make room.
    std::optional<std::uint64_t> insert(std::uint64_t key);
    /// Takes out a key and leaves its place free.
    void erase(std::uint64_t key);

  private:
    /// Calls `use` with the table in use and the key's tag, in the size in which it is stored.
    template <class Self, class Use>
    static auto with_tag(Self& self, std::uint64_t key, Use&& use) {
        const std::uint64_t tag = self.power_of_two_ ? key >> self.shift_ : key / self.sets_;
        return self.short_tags_ ? use(self.small_, static_cast<std::uint32_t>(tag)) : use(self.large_, tag);
    }
    std::uint64_t set_of(std::uint64_t key) const { return power_of_two_ ? key & (sets_ - 1) : key % sets_; }
    std::size_t place_to_make_room();

    std::uint64_t sets_ = 1;
    // Most tables have a power of two of sets: a division takes longer than the rest of a question.
    bool power_of_two_ = true;
    unsigned shift_ = 0;
    std::size_t ways_ = 0;
    std::size_t among_;
    std::uint64_t random_ = golden_factor;
    // A row for each set; in each set the most recent first, free places (all ones) last. One of the two is used.
    bool short_tags_ = false;
    SharedRows<std::uint64_t> large_;
    SharedRows<std::uint32_t> small_;
};

}  // namespace tmaprobe::model
