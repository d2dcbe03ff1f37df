#pragma once

#include <rapidjson/document.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tmaprobe::record {

/// One value of a parsed document and the way to it, which is spelt out only for a complaint. The first
/// thing that is not as it should be is kept in `problem`, shared by all; after it, whatever is read means
/// nothing. A node refers to the node that it was reached from, which must outlive it.
class Node {
  public:
    Node(const rapidjson::Value& document, std::string& problem) : value_(&document), problem_(&problem) {}

    /// The member of that name; a complaint when there is none.
    Node at(const char* key) const;
    bool is_null() const { return value_->IsNull(); }
    bool has(const char* key) const { return value_->IsObject() && value_->HasMember(key); }

    std::string text() const;
    double number() const;
    double number_or_unknown() const { return is_null() ? std::numeric_limits<double>::quiet_NaN() : number(); }
    std::optional<double> optional_number() const { return is_null() ? std::nullopt : std::optional(number()); }
    bool flag() const;
    std::uint64_t count() const;
    int small_count() const;
    /// A string that the schema lists.
    std::string choice(std::initializer_list<const char*> allowed) const;
    /// An object whose content the schema leaves open.
    nlohmann::json object() const;
    /// Any value, as it is.
    nlohmann::json open() const;
    template <class Read>
    auto list(const Read& read) const {
        std::vector<decltype(read(*this))> items;
        if (!value_->IsArray()) return complain("is not an array"), items;
        items.reserve(value_->Size());
        for (rapidjson::SizeType i = 0; i < value_->Size(); ++i)
            items.push_back(read(Node((*value_)[i], *this, nullptr, i)));
        return items;
    }
    /// Calls `read(key, node)` for each member.
    template <class Read>
    void each_member(const Read& read) const {
        if (!value_->IsObject()) return complain("is not an object");
        for (const auto& [key, value] : value_->GetObject()) read(key.GetString(), Node(value, *this, key.GetString(), 0));
    }

    // Members of one kind, each into its place.
    template <class Place>
    using Fields = std::initializer_list<std::pair<const char*, Place*>>;
    void texts(Fields<std::string> fields) const { fill(fields, &Node::text); }
    void counts(Fields<std::uint64_t> fields) const { fill(fields, &Node::count); }
    void small_counts(Fields<int> fields) const { fill(fields, &Node::small_count); }
    void numbers_or_unknown(Fields<double> fields) const { fill(fields, &Node::number_or_unknown); }

    void complain(const std::string& what) const;

  private:
    Node(const rapidjson::Value& value, const Node& from, const char* key, std::size_t index)
        : value_(&value), problem_(from.problem_), from_(&from), key_(key), index_(index) {}

    template <class Place>
    void fill(Fields<Place> fields, Place (Node::*read)() const) const {
        for (const auto& [key, place] : fields) *place = (at(key).*read)();
    }
    std::string path() const;

    const rapidjson::Value* value_;
    std::string* problem_;
    const Node* from_ = nullptr;
    const char* key_ = nullptr;  ///< null: an element of an array, at index_
    std::size_t index_ = 0;
};

}  // namespace tmaprobe::record
