#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tmaprobe::json {

class Document;
struct Content;

/// One value of a parsed document. Cheap to copy; valid while its Document is.
///
/// Lookups never fail: what is not there is a value for which missing() holds, and which has no members,
/// no elements and no text. So a reader asks for a whole path and checks once, at its end.
class Value {
  public:
    /// How a number is written decides which of the three it is: 3, -3, 3.0.
    enum class Kind : std::uint8_t { missing, null, boolean, count, negative, number, text, array, object };

    Value() = default;
    Kind kind() const;

    bool missing() const { return !content_; }
    bool is_null() const;
    bool is_bool() const;
    bool is_number() const;
    bool is_text() const;
    bool is_array() const;
    bool is_object() const;

    // What the value is, if it is that.
    std::optional<bool> boolean() const;
    std::optional<double> number() const;
    /// Whole numbers only: 3 and 3.0 are, 3.5 is none, nor what does not fit.
    std::optional<std::uint64_t> count() const;
    std::optional<std::int64_t> integer() const;
    std::optional<std::string_view> text() const;

    /// What it is, else `otherwise`.
    double number_or(double otherwise) const { return number().value_or(otherwise); }
    std::string text_or(std::string_view otherwise) const { return std::string(text().value_or(otherwise)); }

    /// A text, a number or a flag as it would be typed; empty for others.
    std::string scalar_text() const;

    /// The member of that name (of several, the last); missing where there is none or this is no object.
    Value at(std::string_view key) const;
    /// Elements of an array or members of an object; 0 for everything else.
    std::size_t size() const;

    /// "a number", "an object", ...: for messages.
    std::string_view kind_name() const;

    class Iterator;
    /// Over elements or members, in the order of the text.
    Iterator begin() const;
    Iterator end() const;
    /// At the element or member behind this one, which was itself reached in its container.
    Iterator after() const;
    /// Of an element reached by iterating over an object; empty for others.
    std::string_view key() const;

  private:
    friend class Document;
    Value(const Content* content, std::uint32_t index) : content_(content), index_(index) {}
    const Content* content_ = nullptr;
    std::uint32_t index_ = 0;
};

/// A parsed text. Its values lie side by side in memory, each container before its content.
class Document {
  public:
    explicit Document(std::unique_ptr<Content> content);
    ~Document();
    Document(Document&&) noexcept;
    Document& operator=(Document&&) noexcept;
    Value root() const;

  private:
    std::unique_ptr<Content> content_;
};

class Value::Iterator {
  public:
    Value operator*() const { return {content_, index_}; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

  private:
    friend class Value;
    Iterator(const Content* content, std::uint32_t index) : content_(content), index_(index) {}
    const Content* content_ = nullptr;
    std::uint32_t index_ = 0;
};

/// Parses a whole text. Errors: bad_input "name:line:column: what is wrong"; also for bytes that are not UTF-8,
/// for nesting deeper than a hundred levels, and for texts of 2 GiB and more.
Result<Document> parse(std::string_view text, std::string_view name);

/// Parses the value at `at` of a text, after blanks; `at` becomes the place behind it. Errors: as parse.
Result<Document> parse_next(std::string_view text, std::string_view name, std::size_t& at);

/// "name:line:column" of a byte of the text, line and column counted from 1.
std::string place_in(std::string_view name, std::string_view text, std::size_t byte);

}  // namespace tmaprobe::json
