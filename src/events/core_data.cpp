#include "events/core_data.h"

#include <fmt/format.h>

#include "base/json/merge.h"
#include "base/json/value.h"
#include "events/cpu_geometry.h"
#include "events/library.h"

namespace tmaprobe::events {
namespace {

constexpr std::string_view reference = "same_as";

Result<std::string> read_one(const Library& library, const std::string& path) {
    auto text = read_if_there(library, path);
    if (text && !*text && library.directory) text = read_if_there(Library{}, path);
    if (!text) return pass_on(text);
    if (!*text) return fail(ErrorCode::unavailable, fmt::format("there is no {}", label_of(library, path)));
    return std::move(**text);
}

Result<std::string> read_merged(const Library& library, const std::string& folder, std::string_view file, int depth) {
    constexpr int deepest = 8;  // more than any chain of cores has
    const std::string path = fmt::format("{}/{}", folder, file), label = label_of(library, path);
    auto text = TRY(read_one(library, path));
    const auto own = TRY(json::parse(text, label));
    if (!own.root().is_object()) return fail(ErrorCode::bad_input, label + ": not a JSON object");
    const json::Value base = own.root().at(reference);
    if (base.missing()) return text;
    if (!base.is_text() || depth == deepest)
        return fail(ErrorCode::bad_input, fmt::format("{}: '{}' leads to no folder", label, reference));
    const auto theirs = read_merged(library, std::string(*base.text()), file, depth + 1);
    if (!theirs) return fail(ErrorCode::bad_input, fmt::format("{}: '{}': {}", label, reference, theirs.error().what));
    const auto other = TRY(json::parse(*theirs, label));
    json::Writer writer;
    json::write_merged(writer, other.root(), own.root(), reference);
    return writer.take();
}

}  // namespace

Result<std::string> read_core_data(const Library& library, const std::string& folder, std::string_view file) {
    return read_merged(library, folder, file, 0);
}

Result<CoreModel> read_core_model(const Library& library, const std::string& folder) {
    const auto cpu = TRY(read_cpu_geometry(library, folder));
    if (!cpu.core || cpu.core->llvm_cpu.empty())
        return fail(ErrorCode::unavailable, folder + "/geometry.json describes no core");
    return CoreModel{cpu.core->llvm_cpu, cpu.core->borrowed_model};
}

}  // namespace tmaprobe::events
