#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <utility>

namespace tmaprobe::json {

/// When a member stands in the JSON object of its struct.
enum class Presence {
    always,    ///< written always; a text without it is complained of
    added,     ///< written always; texts of earlier versions lack it, and leave the struct's default
    optional,  ///< left out where it is empty (no value, no elements, no text, false, the default of a number)
};

/// How one member of a struct stands in JSON. What it means is said here once, for the writer, the reader and the schema.
template <class Struct, class Member>
struct Field {
    std::string_view name;
    Member Struct::*member;
    std::string_view meaning;
    Presence presence = Presence::always;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::*member, std::string_view meaning = {}) {
    return {name, member, meaning, Presence::always};
}
template <class Struct, class Member>
constexpr Field<Struct, Member> added(std::string_view name, Member Struct::*member, std::string_view meaning = {}) {
    return {name, member, meaning, Presence::added};
}
template <class Struct, class Member>
constexpr Field<Struct, Member> optional(std::string_view name, Member Struct::*member, std::string_view meaning = {}) {
    return {name, member, meaning, Presence::optional};
}

/// Specialised for each struct that stands in JSON:
///     template <> struct Description<Knee> {
///         static constexpr std::string_view name = "knee", meaning = "...";
///         static constexpr auto fields = std::make_tuple(field("size_bytes", &Knee::size_bytes, "..."), ...);
///     };
template <class Struct>
struct Description;

/// Specialised for each enum that stands in JSON: `values`, an array of pairs of value and name.
template <class Enum>
struct Names;

template <class T>
concept Described = requires { Description<T>::fields; };
template <class T>
concept Named = requires { Names<T>::values; };

/// The name of an enum's value as JSON has it; empty for a value without one.
template <Named Enum>
constexpr std::string_view name_of(Enum value) {
    for (const auto& [known, name] : Names<Enum>::values)
        if (known == value) return name;
    return {};
}

}  // namespace tmaprobe::json
