#include "events/core_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_dump.h"
#include "events/json_text.h"
#include "events/library.h"

namespace tmaprobe::events {
namespace {

using nlohmann::json;

Result<json> read_one(const Library& library, const std::string& path) {
    auto text = read_if_there(library, path);
    if (text && !*text && library.directory) text = read_if_there(Library{}, path);
    if (!text) return pass_on(text);
    if (!*text) return fail(ErrorCode::unavailable, fmt::format("there is no {}", label_of(library, path)));
    auto parsed = parse_json(label_of(library, path), **text);
    if (parsed && !parsed->is_object())
        return fail(ErrorCode::bad_input, label_of(library, path) + ": not a JSON object");
    return parsed;
}

Result<json> read_merged(const Library& library, const std::string& folder, std::string_view file, int depth) {
    constexpr int deepest = 8;  // more than any chain of cores has
    const std::string path = fmt::format("{}/{}", folder, file);
    auto own = read_one(library, path);
    if (!own) return pass_on(own);
    const auto base = own->find("same_as");
    if (base == own->end()) return own;
    if (!base->is_string() || depth == deepest)
        return fail(ErrorCode::bad_input, label_of(library, path) + ": 'same_as' leads to no folder");
    auto merged = read_merged(library, base->get<std::string>(), file, depth + 1);
    if (!merged)
        return fail(ErrorCode::bad_input, fmt::format("{}: 'same_as': {}", label_of(library, path), merged.error().what));
    own->erase("same_as");
    merged->merge_patch(*own);
    return merged;
}

std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<std::string> read_core_data(const Library& library, const std::string& folder, std::string_view file) {
    const auto merged = read_merged(library, folder, file, 0);
    if (!merged) return pass_on(merged);
    return dump_line(*merged);
}

Result<CoreModel> read_core_model(const Library& library, const std::string& folder) {
    const auto merged = read_merged(library, folder, "geometry.json", 0);
    if (!merged) return pass_on(merged);
    const auto core = merged->find("core");
    if (core == merged->end() || !core->is_object() || text_of(*core, "llvm_cpu").empty())
        return fail(ErrorCode::unavailable, folder + "/geometry.json describes no core");
    return CoreModel{text_of(*core, "llvm_cpu"), text_of(*core, "borrowed_model")};
}

}  // namespace tmaprobe::events
