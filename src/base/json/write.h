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
    if constexpr (IsOptional<T>::value) return !value.has_value();
    else if constexpr (Described<T>) return false;
    else if constexpr (requires { value.empty(); }) return value.empty();
    else return value == T{};
}

}  // namespace detail

/// The members of a struct, for callers that add some of their own.
template <Described T>
void write_members(Writer& writer, const T& value) {
    std::apply(
        [&](const auto&... fields) {
            const auto one = [&](const auto& field) {
                const auto& member = value.*field.member;
                if (field.presence == Presence::optional && detail::is_empty(member)) return;
                writer.key(field.name);
                write(writer, member);
            };
            (one(fields), ...);
        },
        Description<T>::fields);
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
