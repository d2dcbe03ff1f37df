#include "record/text.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace tmaprobe::record {
namespace {

/// Length of the valid UTF-8 sequence that `text` begins with; 0 when there is none. Overlong forms,
/// surrogates and code points above U+10FFFF are not valid.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const std::uint8_t second = byte(1);
    if (first == 0xe0 && second < 0xa0) return 0;
    if (first == 0xed && second > 0x9f) return 0;
    if (first == 0xf0 && second < 0x90) return 0;
    if (first == 0xf4 && second > 0x8f) return 0;
    return length;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0)
            valid += "\xef\xbf\xbd";
        else
            valid += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return valid;
}

nlohmann::json finite(double value) {
    if (!std::isfinite(value)) return nullptr;
    return value;
}

nlohmann::json valid_json(const nlohmann::json& value) {
    switch (value.type()) {
        case nlohmann::json::value_t::string:
            return valid_utf8(value.get_ref<const std::string&>());
        case nlohmann::json::value_t::number_float:
            return finite(value.get<double>());
        case nlohmann::json::value_t::array: {
            auto array = nlohmann::json::array();
            for (const auto& element : value) array.push_back(valid_json(element));
            return array;
        }
        case nlohmann::json::value_t::object: {
            auto object = nlohmann::json::object();
            for (const auto& [key, element] : value.items()) object[valid_utf8(key)] = valid_json(element);
            return object;
        }
        case nlohmann::json::value_t::binary:
        case nlohmann::json::value_t::discarded:
            return nullptr;
        default:
            return value;
    }
}

}  // namespace tmaprobe::record
