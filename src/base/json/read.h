#pragma once

#include <charconv>
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
    const auto given = node.value().text();
    if (!given) return node.complain("is not a string");
    if (const auto value = value_named<Enum>(*given)) return void(out = *value);
    auto names = names_of<Enum>();
    std::erase(names, "");
    node.complain("is '" + std::string(*given) + "'; " + suggest(std::string(*given), names));
}

template <Spelled T>
void read_spelling(const Node& node, T& out) {
    const auto given = node.value().text();
    if (!given) return node.complain("is not a string");
    auto value = Spelling<T>::from_text(*given);
    if (!value) return node.complain("is '" + std::string(*given) + "', not " + std::string(Spelling<T>::kind));
    out = std::move(*value);
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

inline std::string shortest_text(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

/// The members of an object by name. Those that stand in the order in which they are asked for, as written by the same
/// description, are found without a search.
class Members {
  public:
    explicit Members(const Node& node) : node_(node), next_(node.value().begin()), end_(node.value().end()) {}

    const Node& node() const { return node_; }
    /// Missing where there is none.
    Value find(std::string_view name) {
        if (next_ != end_ && (*next_).key() == name) {
            const Value found = *next_;
            ++next_;
            return found;
        }
        const Value found = node_.value().at(name);
        if (!found.missing()) next_ = found.after();
        return found;
    }

  private:
    const Node& node_;
    Value::Iterator next_, end_;
};

template <Described T>
bool knows(std::string_view key);

inline bool is_named(const Place& place, std::string_view key) { return place.name == key; }
template <class Struct, class Member>
bool is_named(const Inlined<Struct, Member>&, std::string_view key) {
    return knows<typename Member::value_type>(key);
}
template <class Struct, class Member>
bool is_named(const Rest<Struct, Member>&, std::string_view) {
    return false;
}

/// Whether one of the struct's fields has that name.
template <Described T>
bool knows(std::string_view key) {
    return std::apply([&](const auto&... fields) { return (is_named(fields, key) || ...); }, Description<T>::fields);
}

template <class T>
void read_placed(Members& members, const Place& place, T& out) {
    const Value found = members.find(place.name);
    const Node node = members.node().child(found, place.name);
    if (found.missing()) {
        if (place.presence == Presence::always) node.complain("is missing");
        return;
    }
    if (place.null_if_empty && found.is_null()) return void(out = T{});
    read(node, out);
    if constexpr (std::is_arithmetic_v<T>)
        if (static_cast<double>(out) < place.least) node.complain("is below " + shortest_text(place.least));
}

template <class T, class Struct, class Member>
void read_field(Members& members, T& out, const Field<Struct, Member>& field) {
    read_placed(members, field, out.*field.member);
}
template <class T, class Get, class Set>
void read_field(Members& members, T& out, const Property<Get, Set>& property) {
    std::remove_cvref_t<decltype(property.get(out))> value = property.get(out);
    read_placed(members, property, value);
    property.set(out, std::move(value));
}
template <class T, class Struct, class Member>
void read_field(Members& members, T& out, const Inlined<Struct, Member>& inlined);
template <class T, class Struct, class Member>
void read_field(Members& members, T& out, const Rest<Struct, Member>& rest) {
    for (const Value member : members.node().value()) {
        const bool known = knows<T>(member.key());
        const bool scalar = !member.is_null() && !member.is_array() && !member.is_object();
        if (!known && scalar) (out.*rest.member)[std::string(member.key())] = member.scalar_text();
    }
}

template <Described T>
void read_all(Members& members, T& out) {
    std::apply([&](const auto&... fields) { (read_field(members, out, fields), ...); }, Description<T>::fields);
    if constexpr (requires(const Node& node) { Description<T>::check(node, out); })
        Description<T>::check(members.node(), out);
}

template <class T, class Struct, class Member>
void read_field(Members& members, T& out, const Inlined<Struct, Member>& inlined) {
    using Inner = typename Member::value_type;
    if (members.node().has(std::get<0>(Description<Inner>::fields).name))
        read_all(members, (out.*inlined.member).emplace());
}

}  // namespace detail

/// The members of a struct that `node` is the object of.
template <Described T>
void read_members(const Node& node, T& out) {
    detail::Members members(node);
    detail::read_all(members, out);
}

template <class T>
void read(const Node& node, T& out) {
    if constexpr (Described<T>) {
        if (!node.value().is_object()) return node.complain("is not an object");
        read_members(node, out);
    } else if constexpr (Named<T>) {
        detail::read_name(node, out);
    } else if constexpr (Spelled<T>) {
        detail::read_spelling(node, out);
    } else if constexpr (detail::IsOptional<T>::value) {
        out.reset();
        if (!node.is_null()) read(node, out.emplace());
    } else if constexpr (detail::IsVector<T>::value) {
        if (!node.value().is_array()) return node.complain("is not an array");
        out.clear();
        out.reserve(node.value().size());
        for (const Value element : node.value()) {
            const Node item = node.element(element, out.size());
            read(item, out.emplace_back());
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
