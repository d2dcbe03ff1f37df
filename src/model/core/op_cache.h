#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "events/cpu_geometry.h"

namespace tmaprobe::model::core {

/// Decoded code in sets of the windows that it lies in, looked for as a program executes it.
class OpCache {
  public:
    explicit OpCache(const events::CoreGeometry& core);
    /// Where an instruction is, against the one before.
    struct Place {
        bool begins_window = false, begins_entry = false;
        bool goes_on = false;   ///< no branch was taken before it
        bool is_there = false;  ///< the entry that it begins
    };
    /// The next instruction of the program. Its entry is there when it has ended.
    Place fetch(std::uint64_t address, unsigned length);

  private:
    struct Entry {
        std::uint64_t begin = 0;
        unsigned halves = 2;  ///< of a way
    };
    using Set = std::vector<Entry>;  ///< the most recent first, where that decides what makes room
    Set& set_of(std::uint64_t window) { return sets_[window % sets_.size()]; }
    bool find(Set& set, std::uint64_t begin);
    void keep_last();

    std::uint64_t window_bytes_;
    unsigned entry_instructions_;
    std::size_t ways_, among_;
    bool window_of_end_, is_there_at_all_;
    std::vector<Set> sets_;
    Random random_{0};
    std::uint64_t window_begin_ = ~0ull;  ///< of the instruction before
    std::uint64_t next_ = ~0ull;          ///< after it
    std::uint64_t entry_begin_ = 0;       ///< of the one that it is in
    unsigned in_entry_ = 0;               ///< instructions so far
    bool is_new_ = false;                 ///< that entry
};

}  // namespace tmaprobe::model::core
