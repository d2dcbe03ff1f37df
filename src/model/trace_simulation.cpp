#include "model/trace_simulation.h"

#include <algorithm>
#include <memory>

#include "model/core/simulate.h"
#include "model/llvm/decoder.h"
#include "model/memory_areas.h"
#include "model/trace_code.h"

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
        case Change::busy_sibling:
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
        case Change::no_dependencies:
            machine.core.chosen_at_hand = true;
            break;
        case Change::no_waits:
            machine.core.chosen_never_wait = true;
            break;
        case Change::busy_sibling:
        case Change::prefetched:
            break;  // each has more to it than the change
    }
}

/// Half of the ways, where there are ways to halve: what is in one set stays in one.
void halve(CacheGeometry& cache) {
    if (cache.ways < 2) {
        cache.size_bytes /= 2;
        return;
    }
    cache.size_bytes = cache.size_bytes / cache.ways * (cache.ways / 2);
    cache.ways /= 2;
}

void halve(TlbGeometry& tlb) {
    if (tlb.ways < 2) {
        tlb.entries = (tlb.entries + 1) / 2;
        return;
    }
    const auto ways = static_cast<unsigned>(tlb.ways);
    tlb.entries = tlb.entries / ways * (ways / 2);
    tlb.ways /= 2;
}

void halve(ModelledCpu& cpu, events::SmtStructure structure) {
    using enum events::SmtStructure;
    switch (structure) {
        case l1_data:
            return halve(cpu.l1_data);
        case l1_code:
            return halve(cpu.l1_code);
        case l2:
            return halve(cpu.l2);
        case tlbs:
            for (TlbGeometry& tlb : cpu.tlbs) halve(tlb);
            return;
        case op_cache:
            cpu.core.op_cache_windows /= 2;
            return;
        case outstanding_misses:
            for (unsigned* misses : {&cpu.memory.outstanding_l1_misses, &cpu.memory.outstanding_l2_misses})
                *misses = (*misses + 1) / 2;
            return;
        case memory_bandwidth:
            cpu.memory.bandwidth_bytes_per_second /= 2;
            return;
        default:
            return;  // the core's own
    }
}

/// Gives a simulator what a trace has, and keeps the windows.
class Simulating final : public TraceVisitor {
  public:
    /// `machines`: warmed alike; those from `first` on are `changed`, and the one before it is as the simulator is.
    Simulating(WindowSimulator& simulator, const TraceFile& trace, const std::vector<AlteredMachine>& machines,
               std::vector<ChangedMachine> changed, std::size_t first)
        : simulator_(simulator),
          trace_(trace),
          areas_(trace.mappings()),
          large_area_(machines.front().large_area),
          changed_(std::move(changed)),
          as_it_is_(first > 0),
          takes_pages_(!machines.front().page_bytes),
          mappings_(trace.mappings_of_window(0)),
          found_(machines.size()) {
        for (std::size_t i = first; i < machines.size(); ++i) code_.emplace_back(machines[i].code);
        place_pages();
    }
    void pages(const trace::PageMap& pages) override {
        told_ = pages;
        place_pages();
    }
    void moment(std::uint64_t resident_bytes) override { simulator_.begin_moment(resident_bytes); }
    void step(const trace::StaticInstruction& instruction, const trace::Step& step) override {
        simulator_.follow(instruction, step);
    }
    Result<> window(const trace::Trace& trace) override {
        const bool known = mappings_ < trace_.mappings().size();
        for (std::size_t i = 0; i < changed_.size(); ++i)
            if (code_[i])
                changed_[i].chosen =
                    &code_[i].among(trace.instructions, known ? &trace_.mappings()[mappings_] : nullptr, mappings_);
        auto facts = TRY(simulator_.simulate_with(trace, changed_, as_it_is_));
        for (std::size_t i = 0; i < facts.size(); ++i) found_[i].push_back(std::move(facts[i]));
        if (const auto next = trace_.mappings_of_window(++windows_); next != mappings_) {
            mappings_ = next;
            if (large_area_) place_pages();
        }
        return {};
    }
    std::vector<std::vector<WindowFacts>> take() { return std::move(found_); }

  private:
    void place_pages() {
        if (!takes_pages_) return;
        if (!large_area_) return simulator_.set_pages(told_);
        trace::PageMap pages = told_;
        for (const auto& [begin, end] : areas_.places(*large_area_, mappings_)) pages.cover(begin, end, large_page);
        simulator_.set_pages(std::move(pages));
    }

    WindowSimulator& simulator_;
    const TraceFile& trace_;
    MemoryAreas areas_;
    std::optional<std::size_t> large_area_;
    std::vector<ChangedMachine> changed_;
    std::vector<ChosenCode> code_;  ///< of each changed one
    bool as_it_is_, takes_pages_;
    trace::PageMap told_;
    std::uint32_t mappings_, windows_ = 0;
    std::vector<std::vector<WindowFacts>> found_;
};

}  // namespace

AlteredMachine altered(const ModelledCpu& cpu, const WhatIfQuestion& question,
                       const std::vector<events::SmtStructure>& halved) {
    AlteredMachine machine;
    machine.cpu = cpu;
    for (const Change change : question.changes) {
        alter(machine, change);
        if (change == Change::prefetched)
            machine.core.prefetch_distance = static_cast<unsigned>(question.prefetch_distance);
        if (change != Change::busy_sibling) continue;
        machine.core.halved = halved;
        for (const events::SmtStructure structure : halved) halve(machine.cpu, structure);
    }
    machine.code = question.code;
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
    const bool first_is_plain = first.memory == IdealMemory{} && !first.predicts_all && first.code.empty();
    WindowSimulator simulator(*cores.front(), first.cpu);
    if (first.accesses) simulator.attribute_accesses();
    if (first.tells_region) simulator.tell_regions();
    if (!first.varied && first_is_plain) simulator.vary_windows(false);
    if (first.page_bytes) simulator.set_pages(trace::PageMap::uniform(*first.page_bytes));
    if (first_is_plain) changed.erase(changed.begin());
    Simulating simulating(simulator, trace, machines, std::move(changed), first_is_plain ? 1 : 0);
    TRY(trace.show(*decoder, simulating));
    return simulating.take();
}

}  // namespace tmaprobe::model
