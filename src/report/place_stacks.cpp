#include "report/place_stacks.h"

#include <fmt/format.h>

#include "report/data_words.h"
#include "report/place_formats.h"
#include "report/text.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::CauseSlots;
using record::CodePlace;
using record::Where;

std::string frame_of(const record::CallPlace& place) {
    if (place.line) return fmt::format("{}:{}", clean(base_name(place.file)), place.line);
    if (!place.function.empty()) return clean(place.function);
    return module_text(place.module) + (place.address ? fmt::format("+{:#x}", place.address) : "");
}

std::vector<std::string> frames_of_line(const CodePlace& line) {
    std::vector<std::string> frames;
    if (!line.inlined_into.empty()) frames.push_back(clean(line.inlined_into));
    frames.push_back(function_of(line));
    if (line.first_line) frames.push_back(fmt::format("{}:{}", clean(base_name(line.file)), line.first_line));
    return frames;
}

}  // namespace

std::vector<PlaceStack> stacks_of(const Where& where) {
    std::vector<PlaceStack> stacks;
    const auto add = [&](std::vector<std::string> frames, const CauseSlots& slots) {
        for (const auto& [cause, count] : slots) stacks.push_back({frames, cause, count});
    };
    std::vector<std::vector<std::string>> paths;
    for (const record::CallPlace& place : where.calls) {
        auto frames = place.caller && *place.caller < paths.size() ? paths[*place.caller] : std::vector<std::string>{};
        frames.push_back(frame_of(place));
        add(frames, place.slots);
        paths.push_back(std::move(frames));
    }
    if (!where.calls.empty()) return stacks;
    for (const CodePlace& line : where.lines) {
        std::vector<std::string> frames{module_text(line.module)};
        for (auto& frame : frames_of_line(line)) frames.push_back(std::move(frame));
        add(std::move(frames), line.slots);
    }
    add({further_places}, where.further_lines);
    return stacks;
}

std::vector<PlaceStack> stacks_of_data(const Where& where) {
    std::vector<PlaceStack> stacks;
    for (const record::DataPlace& place : where.data) {
        std::vector<std::string> frames;
        const auto& allocated_by = place.allocated_by;
        for (auto one = allocated_by.rbegin(); one != allocated_by.rend(); ++one)
            frames.push_back(clean(function_text(*one)));
        frames.push_back(place.kind == record::DataKind::blocks ? "blocks" : clean(data_text(place)));
        for (const auto& [cause, slots] : place.slots) stacks.push_back({frames, cause, slots});
    }
    return stacks;
}

}  // namespace tmaprobe::report
