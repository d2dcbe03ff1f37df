#include "base/json/value.h"

#include <charconv>
#include <cmath>

#include "base/json/content.h"

namespace tmaprobe::json {

Document::Document(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Value Document::root() const { return {content_.get(), 0}; }

bool Value::is_null() const { return kind() == Kind::null; }
bool Value::is_bool() const { return kind() == Kind::boolean; }
bool Value::is_number() const { return kind() == Kind::count || kind() == Kind::negative || kind() == Kind::number; }
bool Value::is_text() const { return kind() == Kind::text; }
bool Value::is_array() const { return kind() == Kind::array; }
bool Value::is_object() const { return kind() == Kind::object; }

Value::Kind Value::kind() const { return content_ ? content_->items[index_].kind : Kind::missing; }

std::optional<bool> Value::boolean() const {
    if (!is_bool()) return std::nullopt;
    return content_->items[index_].boolean;
}

std::optional<double> Value::number() const {
    if (!is_number()) return std::nullopt;
    const Item& item = content_->items[index_];
    switch (item.kind) {
        case Kind::count:
            return static_cast<double>(item.count);
        case Kind::negative:
            return static_cast<double>(item.negative);
        default:
            return item.number;
    }
}

std::optional<std::uint64_t> Value::count() const {
    if (kind() == Kind::count) return content_->items[index_].count;
    constexpr double beyond = 18446744073709551616.0;  // 2^64
    const auto given = kind() == Kind::number ? number() : std::nullopt;
    if (!given || *given < 0 || *given >= beyond || std::floor(*given) != *given) return std::nullopt;
    return static_cast<std::uint64_t>(*given);
}

std::optional<std::int64_t> Value::integer() const {
    if (kind() == Kind::negative) return content_->items[index_].negative;
    if (const auto positive = count())
        return *positive <= INT64_MAX ? std::optional(static_cast<std::int64_t>(*positive)) : std::nullopt;
    constexpr double least = -9223372036854775808.0;  // -2^63
    const auto given = kind() == Kind::number ? number() : std::nullopt;
    if (!given || *given > 0 || *given < least || std::floor(*given) != *given) return std::nullopt;
    return static_cast<std::int64_t>(*given);
}

std::optional<std::string_view> Value::text() const {
    if (!is_text()) return std::nullopt;
    return content_->view(content_->items[index_].text);
}

std::string Value::scalar_text() const {
    if (const auto flag = boolean()) return *flag ? "true" : "false";
    if (const auto whole = integer()) return std::to_string(*whole);
    if (const auto whole = count()) return std::to_string(*whole);
    const auto real = number();
    if (!real) return std::string(text().value_or(""));
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, *real).ptr};
}

Value Value::at(std::string_view key) const {
    Value found;
    if (!is_object()) return found;
    for (const Value member : *this)
        if (member.key() == key) found = member;
    return found;
}

std::size_t Value::size() const { return is_array() || is_object() ? content_->items[index_].children : 0; }

std::string_view Value::kind_name() const {
    switch (kind()) {
        case Kind::missing:
            return "missing";
        case Kind::null:
            return "null";
        case Kind::boolean:
            return "true or false";
        case Kind::text:
            return "a text";
        case Kind::array:
            return "an array";
        case Kind::object:
            return "an object";
        default:
            return "a number";
    }
}

Value::Iterator Value::begin() const { return size() ? Iterator(content_, index_ + 1) : end(); }

Value::Iterator Value::end() const {
    return content_ ? Iterator(content_, content_->items[index_].next) : Iterator(nullptr, 0);
}

Value::Iterator Value::after() const { return ++Iterator(content_, index_); }

std::string_view Value::key() const {
    return content_ ? content_->view(content_->items[index_].key) : std::string_view();
}

Value::Iterator& Value::Iterator::operator++() {
    index_ = content_->items[index_].next;
    return *this;
}

}  // namespace tmaprobe::json
