#include "record/text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tmaprobe::record {
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
