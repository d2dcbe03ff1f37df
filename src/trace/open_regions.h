#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tmaprobe::trace {

/// Which regions are open on a thread, in the order in which they were begun. What was open where it is looked at first
/// is read from its memory; from then on its marks' stores tell. A begin stores that one more is open, then which, and
/// counts it last; an end counts it first, and stores last that one less is open. So where a thread is looked at in the
/// middle of a mark, what is still to be stored tells whether the innermost one was there already, or is gone.
class OpenRegions {
  public:
    struct Open {
        std::uint32_t region = 0;
        bool seen = false;        ///< since its begin
        std::uint64_t begun = 0;  ///< as enter() was told
    };

    /// As read from memory. `in_mark`: the thread stands in a mark.
    void look(const std::vector<std::uint32_t>& regions, bool in_mark);

    /// `seen`: it begins here. `at`: given back by leave().
    void enter(std::uint32_t region, bool seen, std::uint64_t at) { open_.push_back({region, seen, at}); }
    /// The innermost of that name; none: it is not open.
    std::optional<Open> leave(std::uint32_t region);

    /// A mark's stores: how many are open; that one is begun; that one ends.
    void depth_stored();
    void begin_stored(std::uint32_t region, std::uint64_t at);
    std::optional<Open> end_stored(std::uint32_t region);
    /// No mark is under way any more. True: what is open has changed by that.
    bool mark_left();

    std::vector<std::uint32_t> regions() const;

  private:
    bool settle();

    std::vector<Open> open_;
    bool begun_in_mark_ = false;  ///< it is under way since before look()
    bool ended_ = false;          ///< and an end was counted in it since then
    bool depth_stored_ = false;   ///< and the depth was stored, with no end before it
};

}  // namespace tmaprobe::trace
