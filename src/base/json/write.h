#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/json/fields.h"
#include "base/json/writer.h"

namespace tmaprobe::json {

template <class T>
void write(Writer& writer, const T& value);

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class K, class T, class C>
struct IsMap<std::map<K, T, C>> : std::true_type {};
template <class T>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {};

template <class T>
bool is_empty(const T& value) {
    if constexpr (IsOptional<T>::value) {
        return !value.has_value();
    } else if constexpr (Described<T>) {
        if constexpr (requires { Description<T>::is_empty(value); })
            return Description<T>::is_empty(value);
        else
            return false;
    } else if constexpr (requires { value.empty(); }) {
        return value.empty();
    } else {
        return value == T{};
    }
}

template <class T>
void write_placed(Writer& writer, const Place& place, const T& value) {
    if (place.presence == Presence::optional && is_empty(value)) return;
    writer.key(place.name);
    if (place.null_if_empty && is_empty(value))
        writer.null();
    else
        write(writer, value);
}

template <class T, class Struct, class Member>
void write_field(Writer& writer, const T& value, const Field<Struct, Member>& field) {
    write_placed(writer, field, value.*field.member);
}
template <class T, class Get, class Set>
void write_field(Writer& writer, const T& value, const Property<Get, Set>& property) {
    write_placed(writer, property, property.get(value));
}
template <class T, class Struct, class Member>
void write_field(Writer& writer, const T& value, const Inlined<Struct, Member>& inlined);
template <class T, class Struct, class Member>
void write_field(Writer& writer, const T& value, const Rest<Struct, Member>& rest) {
    for (const auto& [key, text] : value.*rest.member) {
        writer.key(key);
        writer.text(text);
    }
}

}  // namespace detail

/// The members of a struct, for callers that add some of their own.
template <Described T>
void write_members(Writer& writer, const T& value) {
    std::apply([&](const auto&... fields) { (detail::write_field(writer, value, fields), ...); },
               Description<T>::fields);
}

template <class T, class Struct, class Member>
void detail::write_field(Writer& writer, const T& value, const Inlined<Struct, Member>& inlined) {
    if (const auto& member = value.*inlined.member) write_members(writer, *member);
}

/// A value of any type that has a place in JSON: numbers, texts, enums with Names, structs with a Description, and
/// optionals (null where empty), vectors, maps by text, and variants of these.
template <class T>
void write(Writer& writer, const T& value) {
    if constexpr (Described<T>) {
        writer.begin_object();
        write_members(writer, value);
        writer.end_object();
    } else if constexpr (Named<T>) {
        writer.text(name_of(value));
    } else if constexpr (Spelled<T>) {
        writer.text(Spelling<T>::to_text(value));
    } else if constexpr (detail::IsOptional<T>::value) {
        value ? write(writer, *value) : writer.null();
    } else if constexpr (detail::IsVector<T>::value) {
        writer.begin_array();
        for (const auto& element : value) write(writer, element);
        writer.end_array();
    } else if constexpr (detail::IsMap<T>::value) {
        writer.begin_object();
        for (const auto& [key, element] : value) {
            writer.key(key);
            write(writer, element);
        }
        writer.end_object();
    } else if constexpr (detail::IsVariant<T>::value) {
        std::visit([&](const auto& alternative) { write(writer, alternative); }, value);
    } else {
        writer.value(value);
    }
}

}  // namespace tmaprobe::json
