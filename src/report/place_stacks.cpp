#include "report/place_stacks.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/place_formats.h"
#include "report/text.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::CallSite;
using record::CauseSlots;
using record::CodePlace;
using record::Where;

std::vector<std::string> frames_of_line(const CodePlace& line) {
    std::vector<std::string> frames;
    if (!line.inlined_into.empty()) frames.push_back(clean(line.inlined_into));
    frames.push_back(function_of(line));
    if (line.first_line) frames.push_back(fmt::format("{}:{}", clean(base_name(line.file)), line.first_line));
    return frames;
}

/// The outermost first.
std::vector<std::string> callers_of(const Where& where, std::optional<std::uint64_t> site) {
    std::vector<std::string> callers;
    const CallSite* outermost = nullptr;
    // A caller comes before what it calls: a record that says otherwise leads nowhere.
    for (std::uint64_t limit = where.call_sites.size(); site && *site < limit;
         limit = *site, site = outermost->caller) {
        outermost = &where.call_sites[*site];
        callers.push_back(outermost->function.empty()
                              ? fmt::format("{}+{:#x}", module_text(outermost->module), outermost->address)
                              : clean(outermost->function));
    }
    if (outermost) callers.push_back(module_text(outermost->module));
    std::ranges::reverse(callers);
    return callers;
}

}  // namespace

std::vector<PlaceStack> stacks_of(const Where& where) {
    std::vector<PlaceStack> stacks;
    const auto add = [&](std::vector<std::string> frames, const CauseSlots& slots) {
        for (const auto& [cause, count] : slots) stacks.push_back({frames, cause, count});
    };
    if (where.paths.empty())
        for (const CodePlace& line : where.lines) {
            std::vector<std::string> frames{module_text(line.module)};
            for (auto& frame : frames_of_line(line)) frames.push_back(std::move(frame));
            add(std::move(frames), line.slots);
        }
    for (const record::PathSlots& path : where.paths) {
        if (path.line >= where.lines.size()) continue;
        const CodePlace& line = where.lines[path.line];
        auto frames = callers_of(where, path.caller);
        if (frames.empty()) frames.push_back(module_text(line.module));
        for (auto& frame : frames_of_line(line)) frames.push_back(std::move(frame));
        add(std::move(frames), path.slots);
    }
    add({further_places}, where.further_lines);
    return stacks;
}

}  // namespace tmaprobe::report
