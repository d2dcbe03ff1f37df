#include "counters/model/core/simulate.h"

#include <utility>

#include "counters/model/core/accounting.h"
#include "counters/model/core/front_end.h"
#include "llvm/MCA/HardwareUnits/LSUnit.h"
#include "llvm/MCA/HardwareUnits/RegisterFile.h"
#include "llvm/MCA/HardwareUnits/RetireControlUnit.h"
#include "llvm/MCA/HardwareUnits/Scheduler.h"
#include "llvm/MCA/Pipeline.h"
#include "llvm/MCA/Stages/DispatchStage.h"
#include "llvm/MCA/Stages/ExecuteStage.h"
#include "llvm/MCA/Stages/RetireStage.h"

namespace tmaprobe::counters::model::core {
namespace {

/// Every counter with its name, in one place for subtraction and naming.
template <class Visit>
void for_each_counter(Visit&& visit) {
#define TMAPROBE_FACT(name) visit(#name, &PipelineFacts::name)
    TMAPROBE_FACT(cycles);
    TMAPROBE_FACT(instructions);
    TMAPROBE_FACT(slots);
    TMAPROBE_FACT(uops);
    TMAPROBE_FACT(uops_wrong_path);
    TMAPROBE_FACT(uops_microcode);
    TMAPROBE_FACT(uops_heavy);
    TMAPROBE_FACT(macro_fused);
    TMAPROBE_FACT(slots_frontend);
    TMAPROBE_FACT(slots_frontend_latency);
    TMAPROBE_FACT(slots_backend);
    TMAPROBE_FACT(slots_backend_memory);
    TMAPROBE_FACT(slots_recovery);
    TMAPROBE_FACT(cycles_frontend_none);
    TMAPROBE_FACT(cycles_no_execute);
    TMAPROBE_FACT(cycles_no_execute_load);
    TMAPROBE_FACT(cycles_one_execute);
    TMAPROBE_FACT(cycles_two_execute);
    TMAPROBE_FACT(cycles_store_bound);
    TMAPROBE_FACT(cycles_load_in_flight);
    TMAPROBE_FACT(cycles_l1_miss);
    TMAPROBE_FACT(cycles_no_execute_l1_miss);
    TMAPROBE_FACT(cycles_no_retire);
    TMAPROBE_FACT(cycles_no_retire_load);
    TMAPROBE_FACT(cycles_dispatch_nothing);
    TMAPROBE_FACT(cycles_backend_none);
    TMAPROBE_FACT(cycles_backend_none_memory);
    TMAPROBE_FACT(cycles_store_buffer_full);
    TMAPROBE_FACT(branches);
    TMAPROBE_FACT(branches_taken);
    TMAPROBE_FACT(conditional_branches);
    TMAPROBE_FACT(mispredicts);
    TMAPROBE_FACT(loads);
    TMAPROBE_FACT(stores);
    TMAPROBE_FACT(unmodelled);
#undef TMAPROBE_FACT
}

class McaCore final : public Core {
  public:
    McaCore(std::unique_ptr<Target> target, CoreParameters parameters)
        : target_(std::move(target)), parameters_(std::move(parameters)), pool_(*target_, parameters_) {}

    Result<Simulated> simulate(const Trace& trace, const Window& window, MemoryTiming& memory,
                               BranchOracle& branches) override {
        const llvm::MCSchedModel& model = target_->subtarget->getSchedModel();
        llvm::mca::RetireControlUnit retire_unit(model);
        llvm::mca::RegisterFile registers(model, *target_->registers, 0);
        // Addresses are known from the trace and the kernels do not race with themselves: loads pass stores.
        llvm::mca::LSUnit load_store(model, 0, 0, /*AssumeNoAlias=*/true);
        auto owned_units = std::make_unique<llvm::mca::ResourceManager>(model);
        llvm::mca::ResourceManager& units = *owned_units;
        llvm::mca::Scheduler scheduler(std::move(owned_units), load_store, nullptr);

        PipelineFacts facts, at_start, at_end;
        // Both ends of what is counted lie between cycles: only there do instructions, operations and slots agree.
        bool starts = false, ends = false;
        Window counted = window;
        counted.on_counting = [&] { starts = true; };
        StoreForwarding forwarding(*target_, parameters_);
        auto front = std::make_unique<FrontEnd>(parameters_, pool_, trace, counted, forwarding, memory, branches, facts);
        FrontEnd& front_end = *front;
        QuietCycles quiet(front_end, scheduler, units, window.every_cycle);
        Accounting accounting(parameters_, front_end, quiet, memory, facts);

        llvm::mca::Pipeline pipeline;
        pipeline.appendStage(std::move(front));
        pipeline.appendStage(std::make_unique<llvm::mca::DispatchStage>(*target_->subtarget, *target_->registers,
                                                                        parameters_.slot_width, retire_unit, registers));
        pipeline.appendStage(std::make_unique<llvm::mca::ExecuteStage>(scheduler));
        pipeline.appendStage(std::make_unique<llvm::mca::RetireStage>(retire_unit, registers, load_store));
        pipeline.addEventListener(&accounting);
        front_end.on_finished = [&] { ends = true; };
        accounting.on_counted = [&] {
            if (std::exchange(starts, false)) {
                at_start = facts;
                if (window.on_counting) window.on_counting();
            }
            if (std::exchange(ends, false)) at_end = facts;
        };
        if (auto cycles = pipeline.run(); !cycles)
            return fail(ErrorCode::system, "the pipeline simulation failed: " + llvm::toString(cycles.takeError()));
        return Simulated{at_end - at_start, front_end.taken_steps()};
    }

  private:
    std::unique_ptr<Target> target_;
    CoreParameters parameters_;
    InstructionPool pool_;
};

}  // namespace

PipelineFacts operator-(const PipelineFacts& later, const PipelineFacts& earlier) {
    PipelineFacts difference;
    for_each_counter([&](const char*, std::uint64_t PipelineFacts::* counter) {
        difference.*counter = later.*counter - earlier.*counter;
    });
    return difference;
}

std::map<std::string, double> named(const PipelineFacts& facts) {
    std::map<std::string, double> names;
    for_each_counter([&](const char* name, std::uint64_t PipelineFacts::* counter) {
        names[name] = static_cast<double>(facts.*counter);
    });
    return names;
}

Result<std::unique_ptr<Core>> make_core(const CoreParameters& parameters) {
    auto target = make_target(parameters.architecture, parameters.llvm_cpu);
    if (!target) return pass_on(target);
    return std::make_unique<McaCore>(std::move(*target), parameters);
}

}  // namespace tmaprobe::counters::model::core
