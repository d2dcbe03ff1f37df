#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json/value.h"

namespace tmaprobe::json {

/// A value of a document and the way to it, which is spelt out only for a complaint. The first thing that is not as
/// it should be is kept in `problem`, shared by all nodes of a document; after it, whatever is read means nothing.
/// A node refers to the node that it was reached from, which must outlive it.
class Node {
  public:
    Node(Value value, std::string& problem) : value_(value), problem_(&problem) {}

    const Value& value() const { return value_; }
    bool is_null() const { return value_.is_null(); }
    bool has(std::string_view key) const { return !value_.at(key).missing(); }

    /// The member of that name; a complaint when there is none.
    Node at(std::string_view key) const;
    /// An element, or a member, that was reached by iterating over value().
    Node element(Value value, std::size_t index) const { return {value, *this, {}, index}; }
    Node member(Value value) const { return {value, *this, value.key(), 0}; }
    /// A member that was looked up by this name, or is missing.
    Node child(Value value, std::string_view name) const { return {value, *this, name, 0}; }

    // What it should be; a complaint where it is not.
    std::string text() const;
    double number() const;
    bool flag() const;
    std::uint64_t count() const;
    std::int64_t integer() const;

    /// "runs[2].time is not a number": the way to this value, and what is wrong.
    void complain(std::string_view what) const;

  private:
    Node(Value value, const Node& from, std::string_view key, std::size_t index)
        : value_(value), problem_(from.problem_), from_(&from), key_(key), index_(index) {}
    std::string path() const;

    Value value_;
    std::string* problem_;
    const Node* from_ = nullptr;
    std::string_view key_;  ///< empty: an element of an array, at index_
    std::size_t index_ = 0;
};

}  // namespace tmaprobe::json
