#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/branch_history.h"
#include "model/core/simulate.h"
#include "model/set_associative.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// Which way conditional branches go: TAGE (A. Seznec, P. Michaud, "A case for (partially) TAgged GEometric history
/// length branch prediction", JILP 2006): counters by branch, and a tagged table for each length of the history, of
/// which the longest that knows the branch decides. What is foretold wrong gets an entry in each of the next two: so a
/// pattern is known after two or three rounds, as by the clock (tests/truth/branch_patterns.cpp). An entry that did
/// better than the shorter ones stays until too many new ones have found no place: a pattern that is longer than the
/// tables is not known in part, but not at all. What else tells branches apart than where they lie is the caller's
/// affair.
class DirectionPredictor {
  public:
    static constexpr std::size_t most_tables = 8;
    /// A first level that answers at once, and that the tables correct some cycles later.
    struct Quick {
        unsigned contexts = 0;  ///< that went another way than their branch mostly does; 0: the tables answer at once
        unsigned taken_branches = 0;  ///< before, up to 15, that tell them apart
        unsigned counter_bits = 1;    ///< of each, up to 8: how often in a row it may go the other way before it is
                                      ///< foretold to; with one bit it goes as it did last
        unsigned length = 0;  ///< of the history, by its number from 1 on, instead of taken branches; 0: of none
    };
    /// The tables that have the last word.
    struct Tables {
        std::size_t count = 0;      ///< as many as the histories that it is asked with have lengths, up to most_tables
        std::size_t entries = 0;    ///< of each, a power of 2
        unsigned half_bit = 0;      ///< of a branch's address, which half of each table it has; 0: it may have any
        unsigned counter_bits = 3;  ///< of each entry, 2 or 3
    };
    DirectionPredictor(const Tables& tables, const Quick& quick);

    struct Answer {
        core::Foretold foretold = core::Foretold::right;
        bool is_new = false;  ///< never met before
    };
    /// What was foretold of this branch, which went so. Learns from it; the history is the caller's to continue.
    /// `besides`: what is looked back upon besides the history, of any bits.
    Answer meet(const BranchHistory& history, std::uint64_t branch, bool taken, std::uint64_t besides = 0);
    /// Another branch, which is always taken: the first level looks back upon it, too.
    void took(std::uint64_t branch);

  private:
    struct Found {
        int table = -1, other = -1;  ///< with the longest history, and with the next longest; -1: by branch
    };
    Found find(const BranchHistory& history, std::uint64_t branch, std::uint64_t besides);
    std::uint32_t& entry(int table);
    std::uint32_t use_of(std::uint32_t entry) const;
    bool foretell(Found found, std::uint8_t& base, bool taken);
    void allocate(Found found, bool taken);
    std::uint64_t quick_context(const BranchHistory& history, std::uint64_t branch) const;
    bool quick_is_right(const BranchHistory& history, std::uint64_t branch, bool taken);

    /// Bits 0-2: counter; 3-4: how often it did better than the next shorter one, in the age of bits 5-7; 8-23: tag.
    std::vector<SharedRows<std::uint32_t>> tagged_;
    SharedRows<std::uint8_t> by_branch_;
    std::array<std::uint32_t, most_tables> at_{}, tags_{};
    unsigned entry_bits_, half_bit_;
    std::uint32_t most_taken_;                  ///< a tagged counter's largest value
    std::size_t most_failures_, failures_ = 0;  ///< to find a new entry a place, in this age
    std::uint32_t age_ = 0;                     ///< of what is of use, 0 to 7
    std::uint32_t random_ = 1;
    int trusts_new_ = 8;      ///< 0..15: whether entries that are new do better than the ones before them
    unsigned quick_history_;  ///< taken branches
    unsigned quick_length_;   ///< as of Quick
    bool has_quick_;
    SharedRows<std::uint8_t> mostly_;    ///< taken, by branch
    SetAssociative contexts_;            ///< of the first level
    SharedRows<std::uint8_t> counters_;  ///< of these, by hash
    std::uint8_t counter_most_;
    std::uint64_t taken_ = 0;  ///< branches, some bits of each
};

}  // namespace tmaprobe::model
