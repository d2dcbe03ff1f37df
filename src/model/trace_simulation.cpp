#include "model/trace_simulation.h"

#include <algorithm>
#include <memory>

#include "model/core/simulate.h"
#include "model/llvm/decoder.h"

namespace tmaprobe::model {
namespace {

using record::Change;

constexpr std::uint64_t small_page = 4096, large_page = 2u << 20, huge_page = 1u << 30;

/// Whether the change decides what caches and buffers hold.
bool changes_state(Change change) {
    switch (change) {
        case Change::pages_4k:
        case Change::pages_2m:
        case Change::pages_1g:
        case Change::no_prefetchers:
        case Change::half_l3:
            return true;
        default:
            return false;
    }
}

void alter(AlteredMachine& machine, Change change) {
    if (changes_state(change)) machine.warmed_with.push_back(change);
    switch (change) {
        case Change::perfect_l1:
        case Change::perfect_l2:
        case Change::perfect_l3: {
            const int level = change == Change::perfect_l1 ? 1 : change == Change::perfect_l2 ? 2 : 3;
            machine.memory.caches_from =
                machine.memory.caches_from ? std::min(machine.memory.caches_from, level) : level;
            break;
        }
        case Change::no_tlb_misses:
            machine.memory.translations = true;
            break;
        case Change::pages_4k:
            machine.page_bytes = small_page;
            break;
        case Change::pages_2m:
            machine.page_bytes = large_page;
            break;
        case Change::pages_1g:
            machine.page_bytes = huge_page;
            break;
        case Change::no_mispredictions:
            machine.predicts_all = true;
            break;
        case Change::perfect_front_end:
            machine.core.perfect_front_end = true;
            break;
        case Change::no_failed_forwarding:
            machine.core.forwarding_never_fails = true;
            break;
        case Change::twice_width:
            machine.core.width = 2;
            break;
        case Change::twice_ports:
            machine.core.ports = 2;
            break;
        case Change::twice_reorder_buffer:
            machine.core.reorder_buffer = 2;
            break;
        case Change::twice_memory_buffers:
            machine.core.memory_buffers = 2;
            machine.memory.outstanding = 2;
            break;
        case Change::half_memory_latency:
            machine.memory.latency = 0.5;
            break;
        case Change::twice_memory_bandwidth:
            machine.memory.bandwidth = 2;
            break;
        case Change::no_prefetchers:
            machine.cpu.prefetchers.streams = 0;
            machine.cpu.prefetchers.next_line = false;
            break;
        case Change::half_l3:
            machine.cpu.l3.size_bytes /= 2;
            break;
    }
}

/// Gives a simulator what a trace has, and keeps the windows.
class Simulating final : public TraceVisitor {
  public:
    Simulating(WindowSimulator& simulator, std::vector<ChangedMachine> machines, bool takes_pages)
        : simulator_(simulator), machines_(std::move(machines)), takes_pages_(takes_pages) {
        found_.resize(1 + machines_.size());
    }
    void pages(const trace::PageMap& pages) override {
        if (takes_pages_) simulator_.set_pages(pages);
    }
    void moment(std::uint64_t resident_bytes) override { simulator_.begin_moment(resident_bytes); }
    void step(const trace::StaticInstruction& instruction, const trace::Step& step) override {
        simulator_.follow(instruction, step);
    }
    Result<> window(const trace::Trace& trace) override {
        auto facts = TRY(simulator_.simulate_with(trace, machines_));
        for (std::size_t i = 0; i < facts.size(); ++i) found_[i].push_back(std::move(facts[i]));
        return {};
    }
    std::vector<std::vector<WindowFacts>> take() { return std::move(found_); }

  private:
    WindowSimulator& simulator_;
    std::vector<ChangedMachine> machines_;
    bool takes_pages_;
    std::vector<std::vector<WindowFacts>> found_;
};

}  // namespace

AlteredMachine altered(const ModelledCpu& cpu, const std::vector<Change>& changes) {
    AlteredMachine machine;
    machine.cpu = cpu;
    for (const Change change : changes) alter(machine, change);
    std::ranges::sort(machine.warmed_with);
    return machine;
}

Result<std::vector<std::vector<WindowFacts>>> simulate_trace(const TraceFile& trace,
                                                             const std::vector<AlteredMachine>& machines,
                                                             const std::string& architecture) {
    if (trace.header().architecture != architecture)
        return fail(ErrorCode::bad_input,
                    "the trace is of " + trace.header().architecture + " code, which is not modelled here",
                    "use it on a machine of that kind");
    const auto decoder = TRY(core::make_decoder(architecture));
    std::vector<std::unique_ptr<core::Core>> cores;
    std::vector<ChangedMachine> changed;
    for (const AlteredMachine& machine : machines) {
        core::CoreParameters parameters = machine.cpu.core;
        parameters.architecture = architecture;
        parameters.changes = machine.core;
        cores.push_back(TRY(core::make_core(parameters)));
        changed.push_back({cores.back().get(), machine.memory, machine.predicts_all, machine.varied});
    }
    const AlteredMachine& first = machines.front();
    const bool first_is_plain = first.memory == IdealMemory{} && !first.predicts_all;
    WindowSimulator simulator(*cores.front(), first.cpu);
    if (first.page_bytes) simulator.set_pages(trace::PageMap::uniform(*first.page_bytes));
    if (first_is_plain) changed.erase(changed.begin());
    Simulating simulating(simulator, std::move(changed), !first.page_bytes);
    TRY(trace.show(*decoder, simulating));
    auto windows = simulating.take();
    if (!first_is_plain) windows.erase(windows.begin());
    return windows;
}

}  // namespace tmaprobe::model
