#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/model.h"
#include "model/region_entries.h"
#include "trace/page_of_copy.h"
#include "trace/region_watch.h"
#include "trace/tracer.h"
#include "trace/translator.h"

namespace tmaprobe::model {

/// Entries of a region that are wanted of a copy.
struct EntryWish {
    std::uint32_t region = 0;
    double stands_for = 1;  ///< entries, all that are taken together
    double mean_ns = 0;     ///< that one lasts; 0: not known
    double run_ns = 0;      ///< the copy may run so long by itself until it comes to one
    double budget_ns = 0;   ///< of processor time here, for what follows
    std::function<bool()> goes_on;
};

/// A copy that stands somewhere, and can be followed from there.
struct FollowedCopy {
    trace::TracedProcess& process;
    trace::Tracer& tracer;
    trace::Translator& translator;
    trace::RegionWatch& regions;
    trace::PageOfCopy* page;  ///< null: nobody listens to marks
    /// One more was executed. Whether it is the program's own.
    std::function<bool(const trace::StaticInstruction&, trace::Step&)> executed;
    std::function<std::uint64_t()> resident_bytes;
    std::uint64_t& ticks;
    bool& ended;
};

/// Takes windows of entries of a region: lets a copy run to where the region begins next, and follows it from there. If
/// the region comes again soon, its entries from then on are better known, since the caches are warm by then.
class CopyEntries {
  public:
    CopyEntries(WindowSimulator& simulator, const ModelledCpu& cpu, const ModelOptions& options,
                const trace::RegionPaths& paths)
        : simulator_(simulator), cpu_(cpu), options_(options), paths_(paths) {}

    /// `first_number`: of the entries. Errors: those of Translator and WindowSimulator.
    Result<std::vector<EntryWindow>> take(FollowedCopy& copy, const EntryWish& wish, std::uint32_t first_number);

  private:
    struct Entry {
        EntryPlaces places;
        std::vector<WindowFacts> windows;
        std::vector<double> stand_for;
        bool whole = false;
    };

    Result<bool> run_to_begin(FollowedCopy& copy, const EntryWish& wish);
    Result<> follow(FollowedCopy& copy, const EntryWish& wish);
    void step(const trace::Step& step, std::uint32_t region, const std::vector<trace::StaticInstruction>& instructions);
    void simulate(std::size_t steps, const std::vector<trace::StaticInstruction>& instructions);
    void warm(std::size_t count, const std::vector<trace::StaticInstruction>& instructions);
    void end(bool whole);
    void add_rest(Entry& entry, double mean_ns) const;

    WindowSimulator& simulator_;
    const ModelledCpu& cpu_;
    const ModelOptions& options_;
    const trace::RegionPaths& paths_;
    std::vector<trace::Step> waiting_;  ///< that the caches have not seen yet: the window, and what leads to it
    std::vector<Entry> entries_;
    bool inside_ = false;
    Result<> problem_;
    std::uint64_t followed_ = 0;  ///< instructions
};

}  // namespace tmaprobe::model
