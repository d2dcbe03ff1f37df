#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/followed_regions.h"
#include "model/model.h"
#include "model/region_entries.h"
#include "trace/translator.h"

namespace tmaprobe::model {

/// Takes windows of regions' entries while a command is followed instruction by instruction. Entries are taken by
/// chance, all with the same, which is smaller the more there are; it is the same chance each time.
class FollowedEntries {
  public:
    /// What it needs of whoever follows.
    struct Follower {
        const FollowedRegions& regions;
        const trace::Translator& translator;
        std::function<void(WindowSimulator&)> prepare;  ///< a simulator that is new
        std::function<std::uint64_t()> resident_bytes;  ///< of the process
    };
    /// `options` and the others must outlive this.
    FollowedEntries(core::Core& core, const ModelledCpu& cpu, const ModelOptions& options, Follower follower);

    /// The next of the program's own instructions, with its regions.
    void step(const trace::Step& step);
    /// It has ended, and with it what is open. Errors: those of WindowSimulator.
    Result<> finish();

    std::vector<EntryWindow> take_windows();
    /// Executed in a region, with regions inside, and in none inside.
    std::pair<double, double> instructions_in(std::uint32_t region) const;
    std::uint64_t steps() const { return steps_; }  ///< simulated
    std::size_t simulated_instructions() const;
    double simulating_ns() const;

  private:
    struct Taken {
        std::uint64_t chance = 0;  ///< by which it is taken
        std::vector<WindowFacts> windows;
        std::vector<double> stand_for;
    };
    struct Region {
        std::uint32_t number = 0;
        bool asked = false, follows = false;  ///< whether windows are wanted: of any entry, of the one that is open
        std::uint64_t entries = 0;            ///< so far
        std::uint64_t one_of = 1;             ///< so many entries is taken
        std::uint64_t fed = 0;                ///< how far the caches know what was executed
        std::unique_ptr<WindowSimulator> simulator;
        std::optional<EntryPlaces> open;
        Taken current;
        std::vector<Taken> taken;
    };

    void change_path(std::uint32_t path);
    void begin(std::uint32_t number);
    void end(Region& region);
    void take_window(Region& region, std::size_t steps);
    void thin_out(Region& region) const;
    const trace::Step& at(std::uint64_t position) const { return recent_[position - first_]; }

    core::Core& core_;
    const ModelledCpu& cpu_;
    const ModelOptions& options_;
    Follower follower_;
    std::map<std::uint32_t, Region> regions_;
    std::vector<Region*> followed_;  ///< of whose entries windows are being taken
    std::uint32_t path_ = 0;
    std::vector<std::uint64_t> by_path_{0};  ///< instructions
    std::vector<trace::Step> recent_;
    std::uint64_t first_ = 0;  ///< position of the first of them
    std::uint64_t steps_ = 0;
    Result<> problem_;
};

}  // namespace tmaprobe::model
