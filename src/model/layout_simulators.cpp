#include "model/layout_simulators.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "model/core/simulate.h"
#include "model/window_simulator.h"

namespace tmaprobe::model {

/// One layout's, with its thread.
class LayoutSimulators::Simulator {
  public:
    Simulator(const ModelledCpu& cpu, std::unique_ptr<core::Core> core, const MemoryLayout& layout, Asked asked)
        : core_(std::move(core)),
          simulator_(*core_, cpu),
          width_(static_cast<double>(cpu.core.slot_width)),
          asked_(asked) {
        constexpr std::uint64_t small_page = 4096;
        simulator_.set_pages(trace::PageMap::uniform(small_page));
        simulator_.set_addresses(OwnAddresses(layout.placements, layout.code_shift));
        simulator_.order_frames();
        simulator_.tell_times();
        simulator_.vary_windows(false);
        if (asked_.regions) simulator_.tell_regions();
        if (asked_.branches_told) simulator_.branches_are_told();
        thread_ = std::jthread([this] { work(); });
    }
    ~Simulator() { close(); }

    void add(ExecutedStretch stretch) {
        constexpr std::size_t most_waiting = 2;
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return waiting_.size() < most_waiting; });
        waiting_.push_back(std::move(stretch));
        changed_.notify_all();
    }

    Result<> finish(SimulatedWindows& all) {
        close();
        thread_.join();
        if (error_) return tl::unexpected<Error>(*error_);
        all.layouts.push_back(std::move(windows_));
        all.awaited.insert(all.awaited.end(), awaited_.begin(), awaited_.end());
        return {};
    }

  private:
    void close() {
        const std::scoped_lock lock(guard_);
        closed_ = true;
        changed_.notify_all();
    }

    void work() {
        for (;;) {
            ExecutedStretch stretch;
            {
                std::unique_lock lock(guard_);
                changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
                if (waiting_.empty()) return;
                stretch = std::move(waiting_.front());
                waiting_.pop_front();
                changed_.notify_all();
            }
            if (!error_) simulate(stretch);
        }
    }

    void simulate(const ExecutedStretch& stretch) {
        simulator_.begin_moment(stretch.writable_bytes);
        for (const trace::Step& step : stretch.warm_up)
            simulator_.follow((*stretch.instructions)[step.instruction], step);
        const trace::Trace trace = alone(stretch);
        // Most of what is rare is short: what leads to the core's steady state is, too, there.
        constexpr std::size_t lead_in_of_awaited = 256;
        const std::size_t lead_in = stretch.awaited ? std::min(trace.steps.size() / 4, lead_in_of_awaited)
                                                    : WindowSimulator::lead_in_of(trace.steps.size());
        simulator_.set_lead_in(lead_in);
        if (asked_.branches_told) simulator_.set_foretold(foretold(stretch.events));
        const auto facts = simulator_.simulate(trace);
        if (!facts) {
            error_ = facts.error();
            return;
        }
        auto& window = (stretch.awaited ? awaited_ : windows_).emplace_back();
        for (const auto& [address, slots] : facts->time_by_address) window.costs[address].cycles = slots / width_;
        for (const auto& [path, times] : facts->time_by_region)
            for (const auto& [address, slots] : times) window.by_path[path][address].cycles = slots / width_;
        for (std::size_t i = lead_in; i < trace.steps.size(); ++i) {
            const trace::Step& step = trace.steps[i];
            const std::uint64_t address = trace.instructions[step.instruction].address;
            SampledCode code{1, 0, {}};
            if (const EventBits events = stretch.events[i])
                for (std::size_t event = 0; event < dear_events; ++event) code.events[event] += events >> event & 1;
            window.costs[address].add(code);
            if (asked_.regions) window.by_path[step.regions][address].add(code);
        }
    }

    static std::vector<core::Foretold> foretold(const std::vector<EventBits>& events) {
        std::vector<core::Foretold> steps;
        steps.reserve(events.size());
        for (const EventBits bits : events)
            steps.push_back(bits & bit_of(DearEvent::mispredicted) ? core::Foretold::wrong : core::Foretold::right);
        return steps;
    }

    /// A window with the instructions that are in it, and no others: a program may have hundreds of times as many.
    static trace::Trace alone(const ExecutedStretch& stretch) {
        constexpr std::uint32_t none = ~std::uint32_t{0};
        std::vector<std::uint32_t> numbers(stretch.instructions->size(), none);
        trace::Trace trace;
        trace.steps = stretch.window;
        for (trace::Step& step : trace.steps) {
            std::uint32_t& number = numbers[step.instruction];
            if (number == none) {
                number = static_cast<std::uint32_t>(trace.instructions.size());
                trace.instructions.push_back((*stretch.instructions)[step.instruction]);
            }
            step.instruction = number;
        }
        return trace;
    }

    std::unique_ptr<core::Core> core_;
    WindowSimulator simulator_;
    double width_;
    Asked asked_;
    std::vector<SimulatedWindow> windows_, awaited_;
    std::optional<Error> error_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::deque<ExecutedStretch> waiting_;
    bool closed_ = false;
    std::jthread thread_;
};

RandomTurns::RandomTurns(std::size_t count, std::uint64_t seed) : round_(count), taken_(count), random_(seed) {
    std::iota(round_.begin(), round_.end(), std::size_t{0});
}

std::size_t RandomTurns::next() {
    if (taken_ == round_.size()) {
        taken_ = 0;
        for (std::size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[random_.below(i)]);
    }
    return round_[taken_++];
}

LayoutSimulators::LayoutSimulators(std::size_t layouts) : turns_(layouts, 1), turns_of_awaited_(layouts, 2) {}
LayoutSimulators::LayoutSimulators(LayoutSimulators&&) noexcept = default;
LayoutSimulators& LayoutSimulators::operator=(LayoutSimulators&&) noexcept = default;
LayoutSimulators::~LayoutSimulators() = default;

Result<LayoutSimulators> LayoutSimulators::start(const ModelledCpu& cpu, const std::vector<MemoryLayout>& layouts,
                                                 Asked asked) {
    LayoutSimulators simulators(layouts.size());
    for (const MemoryLayout& layout : layouts)
        simulators.simulators_.push_back(
            std::make_unique<Simulator>(cpu, TRY(core::make_core(cpu.core)), layout, asked));
    return simulators;
}

void LayoutSimulators::add(ExecutedStretch stretch) {
    RandomTurns& turns = stretch.awaited ? turns_of_awaited_ : turns_;
    simulators_[turns.next()]->add(std::move(stretch));
}

Result<SimulatedWindows> LayoutSimulators::finish() {
    SimulatedWindows all;
    for (const auto& simulator : simulators_) TRY(simulator->finish(all));
    return all;
}

}  // namespace tmaprobe::model
