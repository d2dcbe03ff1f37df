// The only file that knows the library which parses JSON.
#include "base/json/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace tmaprobe::json {
namespace {

/// Stretch of Content::text.
struct Stretch {
    std::uint32_t begin = 0, length = 0;
};

struct Node {
    using Kind = Value::Kind;
    Kind kind = Kind::null;
    std::uint32_t next = 0;  ///< index behind this value and all that is in it
    Stretch key;
    union {
        bool boolean;
        std::uint64_t count;
        std::int64_t negative;
        double number;
        Stretch text;
        std::uint32_t children;
    };
    Node() : count(0) {}
};

constexpr std::size_t deepest_nesting = 100;
constexpr std::size_t longest_text = std::size_t{1} << 31;

}  // namespace

struct Document::Content {
    std::vector<Node> nodes;
    std::string text;  ///< of all keys and texts, one behind the other

    std::string_view view(Stretch stretch) const { return std::string_view(text).substr(stretch.begin, stretch.length); }
};

Document::Document() : content_(std::make_unique<Content>()) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

/// Builds the document from the parser's events.
struct Parsing {
    using Kind = Value::Kind;
    using number_integer_t = nlohmann::json::number_integer_t;
    using number_unsigned_t = nlohmann::json::number_unsigned_t;
    using number_float_t = nlohmann::json::number_float_t;

    bool null() { return add(Kind::null), true; }
    bool boolean(bool value) { return add(Kind::boolean).boolean = value, true; }
    bool number_integer(number_integer_t value) { return add(Kind::negative).negative = value, true; }
    bool number_unsigned(number_unsigned_t value) { return add(Kind::count).count = value, true; }
    bool number_float(number_float_t value, const std::string&) { return add(Kind::number).number = value, true; }
    bool string(const std::string& value) {
        const Stretch stretch = keep(value);
        return add(Kind::text).text = stretch, true;
    }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(std::size_t) { return open(Kind::object); }
    bool start_array(std::size_t) { return open(Kind::array); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(const std::string& value) { return key_ = keep(value), true; }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
        byte = position > 0 ? position - 1 : 0;  // counts from 1 and names the last byte that was read
        problem = error.what();
        if (const auto detail = problem.find(": ", problem.find("parse error at")); detail != problem.npos)
            problem = problem.substr(detail + 2);
        return false;
    }

    Document document;
    std::string problem;
    std::size_t byte = 0;

  private:
    Stretch keep(const std::string& value) {
        std::string& text = document.content_->text;
        const Stretch stretch{static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(value.size())};
        text += value;
        return stretch;
    }
    Node& add(Kind kind) {
        auto& nodes = document.content_->nodes;
        if (!open_.empty()) ++nodes[open_.back()].children;
        Node& node = nodes.emplace_back();
        node.kind = kind;
        node.next = static_cast<std::uint32_t>(nodes.size());
        node.key = std::exchange(key_, {});
        return node;
    }
    bool open(Kind kind) {
        if (open_.size() >= deepest_nesting) return problem = "nested too deeply", false;
        add(kind).children = 0;
        open_.push_back(static_cast<std::uint32_t>(document.content_->nodes.size() - 1));
        return true;
    }
    bool close() {
        auto& nodes = document.content_->nodes;
        nodes[open_.back()].next = static_cast<std::uint32_t>(nodes.size());
        open_.pop_back();
        return true;
    }

    std::vector<std::uint32_t> open_;  ///< containers that we are in
    Stretch key_;
};

namespace {

/// Reads the text for the parser and tells how far it has come.
class Source {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Source(const char* end) : end_(end) {}
    Source(const char** at) : at_(at) {}
    reference operator*() const { return **at_; }
    Source& operator++() { return ++*at_, *this; }
    bool operator==(const Source& other) const { return position() == other.position(); }
    bool operator!=(const Source& other) const { return !(*this == other); }

  private:
    const char* position() const { return at_ ? *at_ : end_; }
    const char** at_ = nullptr;
    const char* end_ = nullptr;
};

Result<Document> parse_value(std::string_view text, std::string_view name, bool whole, std::size_t& length) {
    const auto wrong = [&](std::size_t byte, std::string_view what) {
        return fail(ErrorCode::bad_input, fmt::format("{}: not valid JSON: {}", place_in(name, text, byte), what));
    };
    if (text.size() >= longest_text) return wrong(0, "the text is longer than 2 GiB");
    // The parser takes it for the end of the text.
    if (const auto zero = text.find('\0'); zero != text.npos) return wrong(zero, "a zero byte");
    Parsing parsing;
    const char* at = text.data();
    const bool parsed = nlohmann::json::sax_parse(Source(&at), Source(text.data() + text.size()), &parsing,
                                                  nlohmann::json::input_format_t::json, whole);
    length = static_cast<std::size_t>(at - text.data());
    if (parsed) return std::move(parsing.document);
    const std::size_t byte = parsing.byte ? parsing.byte : length;
    return wrong(byte, byte >= text.size() ? "the text ends too early" : parsing.problem);
}

}  // namespace

Result<Document> parse(std::string_view text, std::string_view name) {
    std::size_t length = 0;
    return parse_value(text, name, true, length);
}

Result<Document> parse_first(std::string_view text, std::string_view name, std::size_t& length) {
    return parse_value(text, name, false, length);
}

std::string place_in(std::string_view name, std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t line_begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("{}:{}:{}", name, line, before.size() - line_begin + 1);
}

bool Value::is_null() const { return kind() == Kind::null; }
bool Value::is_bool() const { return kind() == Kind::boolean; }
bool Value::is_number() const { return kind() == Kind::count || kind() == Kind::negative || kind() == Kind::number; }
bool Value::is_text() const { return kind() == Kind::text; }
bool Value::is_array() const { return kind() == Kind::array; }
bool Value::is_object() const { return kind() == Kind::object; }

Value::Kind Value::kind() const { return document_ ? document_->content_->nodes[index_].kind : Kind::missing; }

std::optional<bool> Value::boolean() const {
    if (!is_bool()) return std::nullopt;
    return document_->content_->nodes[index_].boolean;
}

std::optional<double> Value::number() const {
    if (!is_number()) return std::nullopt;
    const Node& node = document_->content_->nodes[index_];
    switch (node.kind) {
        case Kind::count: return static_cast<double>(node.count);
        case Kind::negative: return static_cast<double>(node.negative);
        default: return node.number;
    }
}

std::optional<std::uint64_t> Value::count() const {
    if (kind() == Kind::count) return document_->content_->nodes[index_].count;
    constexpr double beyond = 18446744073709551616.0;  // 2^64
    const auto given = kind() == Kind::number ? number() : std::nullopt;
    if (!given || *given < 0 || *given >= beyond || std::floor(*given) != *given) return std::nullopt;
    return static_cast<std::uint64_t>(*given);
}

std::optional<std::int64_t> Value::integer() const {
    if (kind() == Kind::negative) return document_->content_->nodes[index_].negative;
    if (const auto positive = count())
        return *positive <= INT64_MAX ? std::optional(static_cast<std::int64_t>(*positive)) : std::nullopt;
    constexpr double least = -9223372036854775808.0;  // -2^63
    const auto given = kind() == Kind::number ? number() : std::nullopt;
    if (!given || *given > 0 || *given < least || std::floor(*given) != *given) return std::nullopt;
    return static_cast<std::int64_t>(*given);
}

std::optional<std::string_view> Value::text() const {
    if (!is_text()) return std::nullopt;
    return document_->content_->view(document_->content_->nodes[index_].text);
}

Value Value::at(std::string_view key) const {
    Value found;
    if (!is_object()) return found;
    for (const Value member : *this)
        if (member.key() == key) found = member;
    return found;
}

std::size_t Value::size() const {
    return is_array() || is_object() ? document_->content_->nodes[index_].children : 0;
}

std::string_view Value::kind_name() const {
    switch (kind()) {
        case Kind::missing: return "missing";
        case Kind::null: return "null";
        case Kind::boolean: return "true or false";
        case Kind::text: return "a text";
        case Kind::array: return "an array";
        case Kind::object: return "an object";
        default: return "a number";
    }
}

Value::Iterator Value::begin() const { return size() ? Iterator(document_, index_ + 1) : end(); }

Value::Iterator Value::end() const {
    return document_ ? Iterator(document_, document_->content_->nodes[index_].next) : Iterator(nullptr, 0);
}

std::string_view Value::key() const {
    return document_ ? document_->content_->view(document_->content_->nodes[index_].key) : std::string_view();
}

Value::Iterator& Value::Iterator::operator++() {
    index_ = document_->content_->nodes[index_].next;
    return *this;
}

}  // namespace tmaprobe::json
