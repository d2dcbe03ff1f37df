#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json/node.h"
#include "base/json/write.h"
#include "base/suggest.h"

namespace tmaprobe::json {

/// Reads what write() wrote into a value of the same type. Keys that the type does not know are passed over. A null in
/// place of a number is NaN: it is not known.
template <class T>
void read(const Node& node, T& out);

namespace detail {

template <Named Enum>
void read_name(const Node& node, Enum& out) {
    const std::string given = node.text();
    std::vector<std::string> names;
    for (const auto& [value, name] : Names<Enum>::values) {
        if (name == given) return void(out = value);
        names.emplace_back(name);
    }
    node.complain("is '" + given + "'; " + suggest(given, names));
}

template <class T>
void read_whole_number(const Node& node, T& out) {
    if constexpr (std::is_unsigned_v<T>) {
        const auto given = node.count();
        if (given > std::numeric_limits<T>::max()) return node.complain("is too large");
        out = static_cast<T>(given);
    } else {
        const auto given = node.integer();
        if (given > std::numeric_limits<T>::max()) return node.complain("is too large");
        if (given < std::numeric_limits<T>::min()) return node.complain("is too small");
        out = static_cast<T>(given);
    }
}

/// The first alternative whose kind the value has.
template <class Variant, std::size_t index = 0>
void read_alternative(const Node& node, Variant& out) {
    if constexpr (index == std::variant_size_v<Variant>) {
        node.complain("is " + std::string(node.value().kind_name()));
    } else {
        std::string problem;
        std::variant_alternative_t<index, Variant> value{};
        read(Node(node.value(), problem), value);
        if (problem.empty()) return void(out = std::move(value));
        read_alternative<Variant, index + 1>(node, out);
    }
}

}  // namespace detail

/// The members of a struct that `node` is the object of.
template <Described T>
void read_members(const Node& node, T& out) {
    std::apply(
        [&](const auto&... fields) {
            const auto one = [&](const auto& field) {
                if (field.presence != Presence::always && !node.has(field.name)) return;
                read(node.at(field.name), out.*field.member);
            };
            (one(fields), ...);
        },
        Description<T>::fields);
}

template <class T>
void read(const Node& node, T& out) {
    if constexpr (Described<T>) {
        if (!node.value().is_object()) return node.complain("is not an object");
        read_members(node, out);
    } else if constexpr (Named<T>) {
        detail::read_name(node, out);
    } else if constexpr (detail::IsOptional<T>::value) {
        out.reset();
        if (!node.is_null()) read(node, out.emplace());
    } else if constexpr (detail::IsVector<T>::value) {
        if (!node.value().is_array()) return node.complain("is not an array");
        out.clear();
        out.reserve(node.value().size());
        for (const Value element : node.value()) {
            typename T::value_type item{};
            read(node.element(element, out.size()), item);
            out.push_back(std::move(item));
        }
    } else if constexpr (detail::IsMap<T>::value) {
        if (!node.value().is_object()) return node.complain("is not an object");
        out.clear();
        for (const Value member : node.value()) read(node.member(member), out[std::string(member.key())]);
    } else if constexpr (detail::IsVariant<T>::value) {
        detail::read_alternative(node, out);
    } else if constexpr (std::is_same_v<T, bool>) {
        out = node.flag();
    } else if constexpr (std::is_same_v<T, std::string>) {
        out = node.text();
    } else if constexpr (std::is_floating_point_v<T>) {
        out = node.is_null() ? std::numeric_limits<T>::quiet_NaN() : node.number();
    } else {
        detail::read_whole_number(node, out);
    }
}

}  // namespace tmaprobe::json
