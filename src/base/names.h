#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe {

/// Specialised for each enum that is spelt out, in files or for people: `values`, an array of pairs of value and name.
template <class Enum>
struct Names;

template <class T>
concept Named = requires { Names<T>::values; };

/// The name of an enum's value; empty for a value without one.
template <Named Enum>
constexpr std::string_view name_of(Enum value) {
    for (const auto& [known, name] : Names<Enum>::values)
        if (known == value) return name;
    return {};
}

/// The same as a string, to put texts together.
template <Named Enum>
std::string text_of(Enum value) {
    return std::string(name_of(value));
}

/// The value of that name; nothing for a name that no value has.
template <Named Enum>
constexpr std::optional<Enum> value_named(std::string_view name) {
    for (const auto& [value, known] : Names<Enum>::values)
        if (known == name) return value;
    return std::nullopt;
}

/// All names, in their order: for hints.
template <Named Enum>
std::vector<std::string> names_of() {
    std::vector<std::string> names;
    for (const auto& [value, name] : Names<Enum>::values) names.emplace_back(name);
    return names;
}

}  // namespace tmaprobe
