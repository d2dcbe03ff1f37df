#include "model/copy_entries.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/hardware_watch.h"
#include "trace/native_run.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t most_entries = 3;              ///< of one copy, besides the first
constexpr std::uint64_t longest_wait = 1'500'000;    ///< instructions, for another entry
constexpr std::size_t chunk = 20'000, lead = 2'000;  ///< instructions

}  // namespace

Result<std::vector<EntryWindow>> CopyEntries::take(FollowedCopy& copy, const EntryWish& wish,
                                                   std::uint32_t first_number) {
    entries_.clear();
    waiting_.clear();
    inside_ = false;
    problem_ = {};
    if (!TRY(run_to_begin(copy, wish))) return std::vector<EntryWindow>{};
    TRY(follow(copy, wish));
    if (inside_) end(false);
    std::erase_if(entries_, [](const Entry& entry) { return entry.windows.empty(); });
    if (entries_.size() > 1) entries_.erase(entries_.begin());
    std::vector<EntryWindow> taken;
    for (Entry& entry : entries_) {
        if (!entry.whole) add_rest(entry, wish.mean_ns);
        for (std::size_t i = 0; i < entry.windows.size(); ++i)
            taken.push_back({wish.region, first_number, entry.stand_for[i],
                             wish.stands_for / static_cast<double>(entries_.size()), std::move(entry.windows[i])});
        ++first_number;
    }
    return taken;
}

/// The copy then stands in the mark that has begun it, or before the function's first instruction.
Result<bool> CopyEntries::run_to_begin(FollowedCopy& copy, const EntryWish& wish) {
    trace::HardwareWatch watch(copy.process.pid());
    const auto begin = copy.regions.begin_of(wish.region);
    // Where marks write to is not known before the first one.
    const bool not_yet = !begin && copy.page && copy.regions.waits_for_marks();
    const auto usual = copy.page ? copy.page->on_mapped : nullptr;
    if (not_yet)
        copy.page->on_mapped = [&](std::uint64_t address) {
            copy.regions.marks_for_itself(address);
            if (const auto known = copy.regions.begin_of(wish.region)) watch.set({*known});
        };
    if (!wish.goes_on() || !(begin ? watch.set({*begin}) : not_yet)) return false;
    const auto ran = trace::NativeRun(copy.process, copy.tracer).run_for(wish.run_ns, wish.goes_on, &watch);
    if (copy.page) copy.page->on_mapped = usual;
    if (!ran) {
        if (ran.error().code == ErrorCode::unavailable) return false;
        return pass_on(ran);
    }
    copy.ticks += ran->ticks;
    copy.ended = ran->ended;
    return ran->met.has_value();
}

Result<> CopyEntries::follow(FollowedCopy& copy, const EntryWish& wish) {
    simulator_.begin_moment(copy.resident_bytes());
    copy.regions.look(copy.process);
    const double start = own_processor_ns();
    std::uint64_t since = 0;  // the last entry's end
    while (!copy.ended && problem_ && entries_.size() <= most_entries && wish.goes_on()) {
        const std::size_t before = entries_.size();
        const auto traced =
            TRY(copy.translator.steps(chunk, [&](const trace::StaticInstruction& instruction, trace::Step executed) {
                if (copy.executed(instruction, executed)) step(executed, wish.region, copy.translator.instructions());
            }));
        copy.ended = traced.ended || traced.ended_early != trace::EndedEarly::none;
        since = inside_ || entries_.size() > before ? 0 : since + traced.steps;
        if (since > longest_wait || own_processor_ns() - start > wish.budget_ns) break;
    }
    return problem_;
}

void CopyEntries::step(const trace::Step& step, std::uint32_t region,
                       const std::vector<trace::StaticInstruction>& instructions) {
    const auto& open = paths_.all()[step.regions];
    const bool inside = std::ranges::find(open, region) != open.end();
    if (inside_ && !inside) {
        const std::size_t cut = entries_.back().places.cut_short();
        if (cut >= EntryPlaces::shortest_window) simulate(cut, instructions);
        end(true);
    }
    if (!inside_ && inside && entries_.size() <= most_entries) {
        // Each its own chance.
        entries_.push_back({EntryPlaces(options_.window_instructions, followed_), {}, {}, false});
        inside_ = true;
    }
    waiting_.push_back(step);
    const bool in_window = inside_ && entries_.back().places.is_in_window();
    if (inside_ && entries_.back().places.step()) simulate(options_.window_instructions, instructions);
    if (!in_window && waiting_.size() >= 2 * lead) warm(waiting_.size() - lead, instructions);
}

void CopyEntries::warm(std::size_t count, const std::vector<trace::StaticInstruction>& instructions) {
    for (std::size_t i = 0; i < count; ++i) simulator_.follow(instructions[waiting_[i].instruction], waiting_[i]);
    followed_ += count;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

/// The last steps are a window.
void CopyEntries::simulate(std::size_t steps, const std::vector<trace::StaticInstruction>& instructions) {
    if (!problem_ || steps > waiting_.size()) return;
    const std::size_t lead_in = std::min(WindowSimulator::lead_in_of(steps + steps / 3), waiting_.size() - steps);
    warm(waiting_.size() - steps - lead_in, instructions);
    simulator_.set_lead_in(lead_in);
    auto facts = simulator_.simulate({instructions, waiting_});
    simulator_.usual_lead_in();
    waiting_.clear();
    followed_ += steps;
    if (facts)
        entries_.back().windows.push_back(std::move(*facts));
    else
        problem_ = pass_on(facts);
}

void CopyEntries::end(bool whole) {
    Entry& entry = entries_.back();
    entry.whole = whole;
    entry.stand_for = entry.places.stand_for(entry.windows.size());
    inside_ = false;
}

/// What was not followed any more of an entry is like its last window, and lasts as long as entries do beyond what is
/// known of this one.
void CopyEntries::add_rest(Entry& entry, double mean_ns) const {
    double known_ns = 0, instructions_each_ns = 0;
    for (std::size_t i = 0; i < entry.windows.size(); ++i) {
        const Facts& facts = entry.windows[i].base;
        if (cycles_of(facts) <= 0) continue;
        instructions_each_ns = value_of(facts, "instructions") / cycles_of(facts) * cpu_.frequency_hz * 1e-9;
        known_ns += entry.stand_for[i] / instructions_each_ns;
    }
    entry.stand_for.back() += std::max(0.0, mean_ns - known_ns) * instructions_each_ns;
}

}  // namespace tmaprobe::model
