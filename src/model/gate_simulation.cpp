#include "model/gate_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "base/random.h"
#include "model/cost_estimate.h"
#include "model/followed_run.h"
#include "model/instructions_shown.h"
#include "model/layout_simulators.h"
#include "model/llvm/decoder.h"
#include "model/modelled_cpu.h"
#include "model/rare_code.h"
#include "model/window_follower.h"

namespace tmaprobe::model {
namespace {

/// Windows of a run, one in each of so many parts of one length.
constexpr std::size_t least_windows = 480, most_windows = 1200, window_instructions = 12'000, most_warmed = 60'000;
/// Long runs have more: with them it takes as long as the run under the tracer does anyway.
constexpr std::size_t instructions_of_a_window = 5'000'000;
/// Runs of no more than that are followed as a whole, to count what makes instructions dear.
constexpr std::size_t most_followed = 600'000'000;

/// From where on instructions are followed for a window, and how many: first those that only warm.
struct WindowPlace {
    std::size_t begin = 0, warmed = 0, simulated = 0;
};

/// What comes first, the loader at work, is done once and like nothing else: no window stands for another.
constexpr std::size_t windows_at_start = 20;

/// Where windows lie in a run of so many instructions: all of it where that is short, else at its start, and by chance
/// in each part of the rest.
std::vector<WindowPlace> window_places(std::size_t instructions, std::uint64_t seed) {
    std::vector<WindowPlace> places;
    if (instructions > 2 * least_windows * window_instructions)
        for (std::size_t i = 0; i < windows_at_start; ++i)
            places.push_back({i * window_instructions, 0, window_instructions});
    const std::size_t start = places.size() * window_instructions, rest = instructions - start;
    const std::size_t count = std::clamp<std::size_t>(
        rest / window_instructions, 1, std::clamp(rest / instructions_of_a_window, least_windows, most_windows));
    const std::size_t part = rest / count;
    Random random(seed);
    std::size_t end = start;  // of the one before
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t room = part > window_instructions ? part - window_instructions : 0;
        const std::size_t begin = start + i * part + (room ? random.below(room) : 0);
        const std::size_t part_end = i + 1 == count ? instructions : start + (i + 1) * part;
        WindowPlace place;
        place.begin = std::max(end, begin > most_warmed ? begin - most_warmed : 0);
        place.warmed = begin - place.begin;
        place.simulated = room ? window_instructions : part_end - begin;
        end = begin + place.simulated;
        places.push_back(place);
    }
    return places;
}

/// Layout 0 is as the program has it, but for what the kernel's settings decide. In the others code moves on by a
/// quarter of a line each time, so that with four of them, or a multiple, what is aligned to 16 bytes lies equally
/// often in each place of a line; stack, heap and libraries move by whole pages or lines.
std::vector<MemoryLayout> layouts_of(const trace::FixedStart& start, int count, std::uint64_t seed) {
    constexpr std::uint64_t page = 4096, line = 64, quarter = 16, pages = 512, lines = 64;
    constexpr std::uint64_t apart = std::uint64_t{1} << 40, libraries_begin = 0x7000'0000'0000,
                            everything = std::uint64_t{1} << 47;
    std::vector<MemoryLayout> layouts;
    Random random(seed);
    for (int i = 0; i < count; ++i) {
        MemoryLayout layout;
        const auto moved = [&](std::uint64_t unit, std::uint64_t most) { return i ? unit * random.below(most) : 0; };
        // Each further away from the one before it, so that none comes to lie on another.
        layout.placements = {{page, start.image_end, page + moved(page, pages)},
                             {start.image_end, libraries_begin, start.image_end + apart + moved(page, pages)},
                             {libraries_begin, start.stack_begin, libraries_begin + 2 * apart + moved(page, pages)},
                             {start.stack_begin, everything, start.stack_begin + 3 * apart + moved(line, lines)}};
        layout.code_shift = quarter * static_cast<std::uint64_t>(i) % line;
        layouts.push_back(std::move(layout));
    }
    return layouts;
}

/// By address: code that was rewritten is one with what was there before.
std::map<std::uint64_t, double> executions_of(const trace::Translator& translator) {
    std::map<std::uint64_t, double> executions;
    const auto counts = translator.executions();
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i]) executions[translator.instructions()[i].address] += static_cast<double>(counts[i]);
    return executions;
}

/// The modelled CPU as programs are to see it.
trace::ShownCpu shown_cpu(const ModelledCpu& cpu, const CostQuestion& question) {
    trace::ShownCpu shown;
    using enum trace::ShownCpu::Vendor;
    shown.vendor = question.target.format == events::PmuFormat::amd ? amd : intel;
    shown.avx512 = has_avx512(question.library, question.target);
    const auto add = [&](const CacheGeometry& cache, int level, bool data, bool code) {
        if (cache.size_bytes)
            shown.caches.push_back({level, data, code, cache.size_bytes, cache.line_bytes, cache.ways});
    };
    add(cpu.l1_data, 1, true, false);
    add(cpu.l1_code, 1, false, true);
    add(cpu.l2, 2, true, true);
    add(cpu.l3, 3, true, true);
    return shown;
}

class CostOfCommand {
  public:
    CostOfCommand(const std::vector<std::string>& command, const ModelledCpu& cpu, trace::Decoder& decoder,
                  const CostQuestion& question)
        : command_(command),
          cpu_(cpu),
          decoder_(decoder),
          shown_(shown_cpu(cpu, question)),
          layouts_(question.layouts),
          seed_(question.seed),
          wish_(question.regions) {}

    Result<ProgramCost> find() {
        TRY(count());
        if (cost_.instructions == 0 || !cost_.followed_to_end || cost_.exit_status.value_or(0) != 0)
            return std::move(cost_);
        TRY(simulate());
        return std::move(cost_);
    }

  private:
    Result<> count() {
        const log::Step step("counting the instructions of a run");
        auto run = TRY(FollowedRun::start(command_, decoder_, shown_, wish_));
        cost_.instructions = TRY(run->go_to_end());
        executions_ = executions_of(run->counting());
        blocks_ = run->counting().block_counts();
        leave_out_marks(run->regions());
        cost_.clock_reads = run->clock_reads();
        cost_.started_others = run->started_others();
        cost_.followed_to_end = run->followed_to_end();
        cost_.exit_status = run->exit_status();
        cost_.translated = run->counting().translates();
        return {};
    }

    /// What marks execute is not the program's.
    void leave_out_marks(const FollowedRegions& regions) {
        for (const auto& [begin, end] : regions.code_of_marks()) {
            executions_.erase(executions_.lower_bound(begin), executions_.lower_bound(end));
            std::erase_if(blocks_, [&](const auto& block) { return block.start >= begin && block.start < end; });
        }
    }

    Result<> simulate() {
        const log::Step step("simulating windows of a second run");
        auto run = TRY(FollowedRun::start(command_, decoder_, shown_, wish_));
        const bool follows_all = cost_.instructions <= most_followed;
        auto simulators = TRY(LayoutSimulators::start(cpu_, layouts_of(run->where(), layouts_, seed_),
                                                      {run->regions().any(), follows_all}));
        RareCode rare(blocks_, cost_.instructions);
        const auto places = window_places(cost_.instructions, seed_);
        WindowFollower follower(*run, cpu_, rare, follows_all);
        std::size_t awaited = 0;
        for (std::size_t i = 0; i < places.size(); ++i) {
            TRY(follower.go_to(places[i].begin));
            ExecutedStretch stretch = TRY(follower.window(places[i].warmed, places[i].simulated));
            if (stretch.window.empty()) break;  // it has ended
            simulators.add(std::move(stretch));
            if (i + 1 == places.size() || awaited == places.size() / 2) continue;
            // What matters and is rare is waited for up to where the next one begins.
            auto wanted = rare.wanted(static_cast<double>(i + 1) / static_cast<double>(places.size()));
            if (wanted.empty()) continue;
            auto further = TRY(follower.await(std::move(wanted), places[i + 1].begin, window_instructions));
            if (!further) continue;
            ++awaited;
            simulators.add(std::move(*further));
        }
        TRY(follower.go_to_end());
        cost_.instructions_again = TRY(run->go_to_end());
        cost_.mappings = run->code_mappings();
        add_up(TRY(simulators.finish()), follower.counted(executions_), run->regions());
        return {};
    }

    static std::vector<WindowCosts> costs_of(const std::vector<SimulatedWindow>& windows) {
        std::vector<WindowCosts> costs;
        for (const SimulatedWindow& window : windows) costs.push_back(window.costs);
        return costs;
    }

    static void add(WindowCosts& sum, const WindowCosts& more) {
        for (const auto& [address, code] : more) sum[address].add(code);
    }

    void add_up(const SimulatedWindows& windows, const CountedEvents& events, const FollowedRegions& regions) {
        // Neighbours in different layouts are one sample: what layouts differ by is no error of it.
        std::vector<SimulatedWindow> samples;
        const auto awaited = costs_of(windows.awaited);
        for (const auto& of_layout : windows.layouts) {
            cost_.layouts.push_back(estimate_cost(executions_, costs_of(of_layout), awaited, events).cycles);
            samples.resize(std::max(samples.size(), of_layout.size()));
            for (std::size_t i = 0; i < of_layout.size(); ++i) {
                add(samples[i].costs, of_layout[i].costs);
                for (const auto& [path, costs] : of_layout[i].by_path) add(samples[i].by_path[path], costs);
            }
            cost_.windows += of_layout.size();
        }
        cost_.windows += windows.awaited.size();
        if (samples.empty()) return;
        const CostEstimate estimate = estimate_cost(executions_, costs_of(samples), awaited, events);
        cost_.cycles = estimate.cycles;
        cost_.standard_error = estimate.standard_error;
        cost_.simulated_instructions = static_cast<std::uint64_t>(estimate.sampled);
        for (const auto& [address, count] : executions_) cost_.code[address] = {count, estimate.by_address.at(address)};
        for (const auto& [number, name] : regions.names()) {
            const CostInRegion cost =
                estimate_region(executions_, samples, windows.awaited, regions.paths(), number, events);
            if (cost.cycles > 0) cost_.regions.push_back({name, cost.instructions, cost.cycles, cost.standard_error});
        }
    }

    const std::vector<std::string>& command_;
    const ModelledCpu& cpu_;
    trace::Decoder& decoder_;
    trace::ShownCpu shown_;
    int layouts_;
    std::uint64_t seed_;
    const RegionWish& wish_;
    std::map<std::uint64_t, double> executions_;
    std::vector<trace::Translator::BlockCount> blocks_;
    ProgramCost cost_;
};

}  // namespace

Result<ProgramCost> simulate_cost(const std::vector<std::string>& command, const CostQuestion& question) {
    const bool arm_target = question.target.format == events::PmuFormat::arm;
    if (arm_target != (question.architecture == "aarch64"))
        return fail(ErrorCode::bad_input,
                    fmt::format("{} code cannot be modelled on {}", question.architecture, question.target.folder),
                    "hold a baseline against runs on machines of its instruction set");
    auto cpu = TRY(load_modelled_cpu(question.library, question.target));
    cpu.core.architecture = question.architecture;
    const auto decoder = TRY(core::make_decoder(question.architecture));
    return CostOfCommand(command, cpu, *decoder, question).find();
}

}  // namespace tmaprobe::model
