#include "experiments/located_code.h"

#include <charconv>
#include <map>
#include <set>

#include "base/suggest.h"

namespace tmaprobe::experiments {
namespace {

using model::CodeInFile;
using model::TracedInstruction;

std::vector<symbols::Location> locations_of(const std::vector<TracedInstruction>& instructions) {
    std::vector<symbols::Location> all(instructions.size());
    std::map<std::string, std::vector<std::size_t>> of_file;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        all[i].address = instructions[i].place.offset;
        if (!instructions[i].place.path.empty()) of_file[instructions[i].place.path].push_back(i);
    }
    for (const auto& [path, numbers] : of_file) {
        std::vector<std::uint64_t> offsets;
        for (const std::size_t i : numbers) offsets.push_back(instructions[i].place.offset);
        auto located = path == symbols::vdso_module ? symbols::locate_in_vdso(offsets) : symbols::locate(path, offsets);
        if (!located || located->size() != numbers.size()) continue;
        for (std::size_t i = 0; i < numbers.size(); ++i) all[numbers[i]] = std::move((*located)[i]);
    }
    return all;
}

struct Lines {
    std::string file;
    unsigned first = 0, last = 0;
};

/// "a.c:12", "a.c:12-15"; nothing for what is neither.
std::optional<Lines> lines_called(const std::string& name) {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == name.size()) return std::nullopt;
    Lines lines{name.substr(0, colon), 0, 0};
    const char *at = name.data() + colon + 1, *const end = name.data() + name.size();
    auto read = std::from_chars(at, end, lines.first);
    if (read.ec != std::errc() || lines.first == 0) return std::nullopt;
    lines.last = lines.first;
    if (read.ptr != end) {
        if (*read.ptr != '-') return std::nullopt;
        read = std::from_chars(read.ptr + 1, end, lines.last);
    }
    return read.ec == std::errc() && read.ptr == end && lines.last >= lines.first ? std::optional(lines) : std::nullopt;
}

std::optional<std::uint64_t> address_called(const std::string& name) {
    if (!name.starts_with("0x")) return std::nullopt;
    constexpr int hexadecimal = 16;
    std::uint64_t address = 0;
    const auto read = std::from_chars(name.data() + 2, name.data() + name.size(), address, hexadecimal);
    return read.ec == std::errc() && read.ptr == name.data() + name.size() ? std::optional(address) : std::nullopt;
}

/// "/build/a/b.c" is "b.c", "a/b.c" and itself.
bool is_file(const std::string& file, const std::string& name) {
    return file == name || (file.ends_with(name) && file[file.size() - name.size() - 1] == '/');
}

/// Parameters may be left out.
bool is_function(const std::string& function, const std::string& name) {
    return function == name || (function.starts_with(name) && function[name.size()] == '(');
}

}  // namespace

LocatedCode::LocatedCode(std::vector<TracedInstruction> instructions)
    : instructions_(std::move(instructions)), located_(locations_of(instructions_)) {}

template <class Choose>
std::vector<CodeInFile> LocatedCode::chosen(Choose&& choose) const {
    std::vector<CodeInFile> places;
    for (std::size_t i = 0; i < instructions_.size(); ++i)
        if (choose(located_[i], instructions_[i])) places.push_back(instructions_[i].place);
    return places;
}

Result<std::vector<CodeInFile>> LocatedCode::called(const std::string& name) const {
    std::vector<CodeInFile> places;
    const auto lines = lines_called(name);
    if (const auto address = address_called(name)) {
        places = chosen([&](const symbols::Location& at, const TracedInstruction&) { return at.address == *address; });
    } else if (lines) {
        places = chosen([&](const symbols::Location& at, const TracedInstruction&) {
            if (at.frames.empty()) return false;
            const symbols::Frame& frame = at.frames.front();
            return frame.line >= lines->first && frame.line <= lines->last && is_file(frame.file, lines->file);
        });
    } else {
        places = chosen([&](const symbols::Location& at, const TracedInstruction&) {
            return !at.frames.empty() && is_function(at.frames.front().function, name);
        });
    }
    if (!places.empty()) return places;
    std::set<std::string> known;
    for (const symbols::Location& at : located_)
        for (const symbols::Frame& frame : at.frames) known.insert(frame.function);
    return fail(ErrorCode::bad_usage, "no instruction of the trace is at '" + name + "'",
                suggest(name, {known.begin(), known.end()}));
}

std::vector<CodeInFile> LocatedCode::of_line(const record::CodePlace& line) const {
    return chosen([&](const symbols::Location& at, const TracedInstruction& instruction) {
        if (at.frames.empty() || instruction.place.path != line.module) return false;
        const symbols::Frame& frame = at.frames.front();
        const std::string outer = at.frames.size() > 1 ? at.frames.back().function : "";
        return frame.function == line.function && outer == line.inlined_into && frame.file == line.file &&
               frame.line == line.first_line;
    });
}

}  // namespace tmaprobe::experiments
