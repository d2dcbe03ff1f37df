#include "events/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json/value.h"

namespace tmaprobe::events {

Result<nlohmann::json> parse_json(std::string_view label, std::string_view text) {
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        // error.byte counts from 1 and names the last byte read.
        const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
        std::string what = error.what();
        if (const auto detail = what.find(": ", what.find("parse error at")); detail != what.npos)
            what = what.substr(detail + 2);
        if (byte >= text.size()) what = "the file ends too early";
        return fail(ErrorCode::bad_input, fmt::format("{}: not valid JSON: {}", json::place_in(label, text, byte), what));
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("{}: not valid JSON: {}", label, error.what()));
    }
}

}  // namespace tmaprobe::events
