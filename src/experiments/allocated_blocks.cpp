#include "experiments/allocated_blocks.h"

#include <algorithm>
#include <set>

#include "symbols/function_places.h"

namespace tmaprobe::experiments {
namespace {

using counters::AllocatingCall;
using record::AllocatingFunction;

/// Visits the call sites of an allocation, the innermost first.
template <class Visit>
void for_each_site(const std::vector<AllocatingCall>& calls, std::uint32_t allocation, Visit&& visit) {
    // A call comes after the one that it was made in.
    for (; allocation != 0 && allocation < calls.size(); allocation = calls[allocation].from)
        visit(calls[allocation].site);
}

bool is_same_function(const AllocatingFunction& a, const AllocatingFunction& b) {
    return a.module == b.module && a.function == b.function && (!a.function.empty() || a.address == b.address);
}

void add_function(std::vector<AllocatingFunction>& functions, AllocatingFunction function) {
    const auto before =
        std::ranges::find_if(functions, [&](const auto& one) { return is_same_function(one, function); });
    if (before != functions.end())
        functions.erase(before + 1, functions.end());
    else
        functions.push_back(std::move(function));
}

}  // namespace

std::vector<trace::AllocatorFunction> allocator_functions(const std::string& file) {
    std::vector<trace::AllocatorFunction> functions;
    const auto is_one = [](const std::string& name) {
        return trace::allocator_call(name) != trace::AllocatorCall::none;
    };
    for (const symbols::FunctionPlace& function : symbols::functions_named(file, is_one))
        functions.push_back({function.offset, trace::allocator_call(function.linker_name)});
    return functions;
}

void number_allocating_calls(const counters::SlotAttribution& attribution, CodePoints& points) {
    std::set<std::pair<std::size_t, std::uint32_t>> numbered;
    for (const auto& window : attribution.windows)
        for (const auto& met : window.blocks)
            if (numbered.insert({window.mappings, met.allocation}).second)
                for_each_site(attribution.allocating_calls, met.allocation,
                              [&](std::uint64_t site) { points.number(attribution, window, site); });
}

const std::vector<AllocatingFunction>& AllocatingFunctions::of(const counters::AttributedWindow& window,
                                                               std::uint32_t allocation) {
    const auto [known, is_new] = known_.try_emplace({window.mappings, allocation});
    std::vector<AllocatingFunction>& functions = known->second;
    if (!is_new) return functions;
    // What calls main is the same in each program, and no news.
    bool is_in_main = true;
    for_each_site(attribution_.allocating_calls, allocation, [&](std::uint64_t site) {
        const auto number = points_.find(attribution_, window, site);
        if (!number || !is_in_main) return;
        const CodePoint& point = points_[*number];
        if (point.located.frames.empty()) add_function(functions, {point.module, "", "", 0, point.located.begins});
        for (const symbols::Frame& frame : point.located.frames)
            add_function(functions, {point.module, frame.function, frame.file, frame.line,
                                     frame.function.empty() ? point.located.begins : 0});
        is_in_main = functions.back().function != "main";
    });
    return functions;
}

}  // namespace tmaprobe::experiments
