#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/names.h"

namespace tmaprobe::json {

/// When a member stands in the JSON object of its struct.
enum class Presence {
    always,    ///< written always; a text without it is complained of
    added,     ///< written always; texts of earlier versions lack it, and leave the struct's default
    optional,  ///< left out where it is empty (no value, no elements, no text, false, the default of a number)
};

/// What every kind of field says of its place in the object.
struct Place {
    std::string_view name;
    std::string_view meaning;
    Presence presence = Presence::always;
    bool null_if_empty = false;  ///< written as null where it is empty, and read as empty from null
    double least = -std::numeric_limits<double>::infinity();  ///< of a number
};

/// How one member of a struct stands in JSON. What it means is said here once, for the writer, the reader and the
/// schema.
template <class Struct, class Member>
struct Field : Place {
    Member Struct::* member;

    constexpr Field at_least(double number) const {
        Field field = *this;
        field.least = number;
        return field;
    }
    /// An empty value is null: for what is not known.
    constexpr Field or_null() const {
        Field field = *this;
        field.null_if_empty = true;
        return field;
    }
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::* member, std::string_view meaning = {}) {
    return {{name, meaning}, member};
}
template <class Struct, class Member>
constexpr Field<Struct, Member> added(std::string_view name, Member Struct::* member, std::string_view meaning = {}) {
    return {{name, meaning, Presence::added}, member};
}
template <class Struct, class Member>
constexpr Field<Struct, Member> optional(std::string_view name, Member Struct::* member,
                                         std::string_view meaning = {}) {
    return {{name, meaning, Presence::optional}, member};
}

/// A member of the object that is not one member of the struct: `get(const Struct&)` gives what is written, and
/// `set(Struct&, value)` takes what was read.
template <class Get, class Set>
struct Property : Place {
    Get get;
    Set set;
};
template <class Get, class Set>
constexpr Property<Get, Set> property(std::string_view name, Get get, Set set, std::string_view meaning,
                                      Presence presence = Presence::always) {
    return {{name, meaning, presence}, get, set};
}

/// An optional struct whose members stand in the object of the struct that has it. It is there if its first member is.
template <class Struct, class Member>
struct Inlined {
    Member Struct::* member;
};
template <class Struct, class Member>
constexpr Inlined<Struct, Member> inlined(Member Struct::* member) {
    return {member};
}

/// A map of texts that takes all members which no other field names; numbers and flags are read as they are written.
template <class Struct, class Member>
struct Rest {
    Member Struct::* member;
    std::string_view meaning;
};
template <class Struct, class Member>
constexpr Rest<Struct, Member> rest(Member Struct::* member, std::string_view meaning) {
    return {member, meaning};
}

/// Specialised for each struct that stands in JSON:
///     template <> struct Description<Knee> {
///         static constexpr std::string_view name = "knee", meaning = "...";
///         static constexpr auto fields = std::make_tuple(field("size_bytes", &Knee::size_bytes, "..."), ...);
///     };
/// It may have `static bool is_empty(const Knee&)`, for optional and or_null fields, and
/// `static void check(const Node&, Knee&)`, which is called when all members are read and complains of what no type
/// says.
template <class Struct>
struct Description;

/// Specialised for each type, other than an enum, that stands in JSON as a text: `static std::string to_text(const
/// T&)`, `static std::optional<T> from_text(std::string_view)`, which gives nothing for a text that is none of it, and
/// `static constexpr std::string_view kind`, what it is called in a complaint: "a size such as 48K".
template <class T>
struct Spelling;

template <class T>
concept Spelled = requires { Spelling<T>::kind; };

template <class T>
concept Described = requires { Description<T>::fields; };

using tmaprobe::name_of;
using tmaprobe::Named;
using tmaprobe::Names;

}  // namespace tmaprobe::json
