#include "model/core/simulate.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/core/pipeline.h"
#include "model/llvm/describe.h"

namespace tmaprobe::model::core {
namespace {

/// Those that are of the core; caches and the like are others'.
std::vector<unsigned*> parts_of(CoreParameters& core, events::SmtStructure structure) {
    using enum events::SmtStructure;
    switch (structure) {
      case slots:
            return {&core.slot_width, &core.decode_width, &core.decode_bytes, &core.op_cache_width, &core.retire_width};
        case micro_op_queue:
            return {&core.micro_op_queue};
        case op_cache:
            return {&core.op_cache_windows};
        case reorder_buffer:
            return {&core.reorder_buffer};
        case load_buffer:
            return {&core.load_buffer};
        case store_buffer:
            return {&core.store_buffer};
        case registers:
            return {&core.general_registers, &core.vector_registers};
        default:
            return {};
    }
}

CoreParameters changed(CoreParameters parameters) {
    const CoreChanges& changes = parameters.changes;
    for (unsigned* width : {&parameters.slot_width, &parameters.decode_width, &parameters.decode_bytes,
                            &parameters.op_cache_width, &parameters.retire_width})
        *width *= changes.width;
    for (unsigned* entries : {&parameters.reorder_buffer, &parameters.general_registers, &parameters.vector_registers})
        *entries *= changes.reorder_buffer;
    for (unsigned* entries : {&parameters.load_buffer, &parameters.store_buffer}) *entries *= changes.memory_buffers;
    for (const events::SmtStructure structure : changes.halved)
        for (unsigned* whole : parts_of(parameters, structure)) *whole = (*whole + 1) / 2;
    return parameters;
}

PortChoice choice_of(const events::PortBinding& binding) {
    PortChoice choice;
    choice.counts_age = binding.counts_age_cycles;
    choice.difference = binding.difference;
    for (const events::PortBinding::Choice& one : binding.choices)
        if (one.ports < choice.places.size()) choice.places[one.ports] = one.places;
    return choice;
}

class OwnCore final : public Core, private Descriptors {
  public:
    OwnCore(std::unique_ptr<LlvmTarget> target, CoreParameters parameters)
        : target_(std::move(target)), parameters_(std::move(parameters)) {}

    Result<> prepare() {
        auto describer = TRY(Describer::make(*target_, parameters_));
        parameters_ = changed(describer->schedule().completed(parameters_));
        for (const Scheduler& scheduler : describer->schedule().schedulers()) {
            schedulers_.entries.push_back(shared_entries(scheduler.entries * parameters_.changes.reorder_buffer));
            if (scheduler.takes_one) schedulers_.taking_one |= scheduler.ports;
        }
        schedulers_.choice = choice_of(parameters_.port_binding);
        schedulers_.groups = describer->schedule().groups(parameters_.binds_ports_at_renaming);
        describer_ = std::move(describer);
        return {};
    }

    Result<Simulated> simulate(const trace::Trace& trace, const Window& window, MemoryTiming& memory,
                               BranchOracle& branches) override {
        if (window.first > trace.steps.size() || window.count > trace.steps.size() - window.first ||
            window.lead_in > window.count)
            return fail(ErrorCode::bad_input, "a window that is not within its trace cannot be simulated");
        return Pipeline(parameters_, schedulers_, *this, trace, window, memory, branches).run();
    }

    std::vector<std::string> port_names() const override { return describer_->schedule().port_names(); }

  private:
    unsigned shared_entries(unsigned entries) const {
        const auto& halved = parameters_.changes.halved;
        const bool halves = std::ranges::find(halved, events::SmtStructure::schedulers) != halved.end();
        return halves ? (entries + 1) / 2 : entries;
    }

    const InstructionDescriptor& get(const trace::StaticInstruction& instruction, bool fused) override {
        // Addresses on all supported systems leave the top bit free for user code.
        std::unique_ptr<InstructionDescriptor>& found = descriptors_[instruction.address << 1 | (fused ? 1 : 0)];
        const bool stale =
            found && std::memcmp(found->what.bytes.data(), instruction.bytes.data(), instruction.bytes.size()) != 0;
        if (stale) replaced_.push_back(std::move(found));  // the window may still refer to it
        if (!found) found = std::make_unique<InstructionDescriptor>(describer_->describe(instruction, fused));
        return *found;
    }

    std::unique_ptr<LlvmTarget> target_;
    CoreParameters parameters_;
    std::unique_ptr<Describer> describer_;
    SchedulerSizes schedulers_;
    std::unordered_map<std::uint64_t, std::unique_ptr<InstructionDescriptor>> descriptors_;
    std::vector<std::unique_ptr<InstructionDescriptor>> replaced_;
};

}  // namespace

Result<std::unique_ptr<Core>> make_core(const CoreParameters& parameters) {
    auto target = TRY(make_target(parameters.architecture, parameters.llvm_cpu));
    auto core = std::make_unique<OwnCore>(std::move(target), parameters);
    TRY(core->prepare());
    return core;
}

}  // namespace tmaprobe::model::core
