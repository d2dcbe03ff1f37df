#include "model/trace_extensions.h"

#include <algorithm>
#include <functional>

#include "model/trace_code.h"

namespace tmaprobe::model {

Result<TraceExtensions> TraceExtensions::of(const TraceFile& trace, const events::Library& library) {
    TraceExtensions found;
    found.extensions_ = TRY(core::make_extensions(library, trace.header().architecture));
    for (const TracedInstruction& instruction : TRY(executed_instructions(trace))) {
        const auto features = found.extensions_->needed(instruction.bytes, instruction.length);
        for (const std::string& feature : features) found.by_feature_[feature] += instruction.share;
        if (!features.empty() && !instruction.place.path.empty())
            found.by_file_[instruction.place.path] += instruction.share;
    }
    return found;
}

std::vector<record::InstructionSetUse> TraceExtensions::all() const {
    std::vector<record::InstructionSetUse> uses;
    for (const auto& [feature, share] : by_feature_) uses.push_back({feature, share});
    std::ranges::stable_sort(uses, std::greater{}, &record::InstructionSetUse::share);
    return uses;
}

std::vector<record::InstructionSetUse> TraceExtensions::lacking(const std::string& llvm_cpu) {
    auto uses = all();
    std::erase_if(uses, [&](const auto& use) { return extensions_->has(llvm_cpu, use.feature); });
    return uses;
}

std::vector<record::ChosenByCpu> TraceExtensions::by_file() const {
    std::vector<record::ChosenByCpu> files;
    for (const auto& [path, share] : by_file_) files.push_back({path, false, share});
    std::ranges::stable_sort(files, std::greater{}, &record::ChosenByCpu::share);
    return files;
}

}  // namespace tmaprobe::model
