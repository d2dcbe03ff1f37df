// The parser of JSON texts (RFC 8259, no extensions). It is our own because reading records has to be fast: from bytes
// to a document without a virtual call, a copy or a throw per value. tests/base/json/parse_test.cpp holds it against an
// independent library on whole and damaged texts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/json/content.h"
#include "base/utf8.h"

namespace tmaprobe::json {
namespace {

constexpr std::size_t deepest_nesting = 100;
constexpr std::size_t longest_text = std::size_t{1} << 31;

/// Bytes that a string holds as they are: ASCII but for quotes, backslashes and control characters.
constexpr auto plain_in_string = [] {
    std::array<bool, 256> plain{};
    for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
    return plain;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
        add(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            add(0xe0 | code >> 12);
        } else {
            add(0xf0 | code >> 18);
            add(0x80 | (code >> 12 & 0x3f));
        }
        add(0x80 | (code >> 6 & 0x3f));
    }
    add(0x80 | (code & 0x3f));
}

/// Reads a text from front to back into a Content. Each step returns false after it has said what is wrong.
class Parser {
  public:
    using Kind = Value::Kind;

    Parser(std::string_view text, Content& content)
        : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), content_(content) {}

    std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
    std::string problem() const { return at_ >= end_ ? "the text ends too early" : problem_; }

    /// One value with all that is in it.
    bool value() {
        for (;;) {
            skip_blanks();
            const std::size_t open_before = open_.size();
            if (!begin_value()) return false;
            if (open_.size() > open_before) {
                skip_blanks();
                if (peek() != closing()) {
                    if (in_object() && !key()) return false;
                    continue;
                }
                ++at_;
                close();
            }
            bool another = false;
            if (!end_values(another)) return false;
            if (!another) return true;
        }
    }
    /// Nothing but blanks is left.
    bool end() {
        skip_blanks();
        return at_ == end_ || wrong("the text goes on behind its value");
    }

  private:
    char peek() const { return at_ < end_ ? *at_ : '\0'; }
    void skip_blanks() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    bool wrong(std::string what) { return problem_ = std::move(what), false; }
    bool unexpected(const char* wanted) {
        const char c = peek();
        if (c == '\0') return wrong("a zero byte");
        return wrong(c > 0x20 && c < 0x7f ? fmt::format("{} expected instead of '{}'", wanted, c)
                                          : fmt::format("{} expected", wanted));
    }

    bool in_object() const { return content_.items[open_.back()].kind == Kind::object; }
    char closing() const { return in_object() ? '}' : ']'; }

    Item& add(Kind kind) {
        if (!open_.empty()) ++content_.items[open_.back()].children;
        Item& item = content_.items.emplace_back();
        item.kind = kind;
        item.next = static_cast<std::uint32_t>(content_.items.size());
        item.key = std::exchange(key_, {});
        return item;
    }
    bool open(Kind kind) {
        if (open_.size() >= deepest_nesting) return wrong("nested too deeply");
        ++at_;
        add(kind).children = 0;
        open_.push_back(static_cast<std::uint32_t>(content_.items.size() - 1));
        return true;
    }
    void close() {
        content_.items[open_.back()].next = static_cast<std::uint32_t>(content_.items.size());
        open_.pop_back();
    }

    /// A scalar, or the bracket that opens a container.
    bool begin_value() {
        switch (peek()) {
            case '{':
                return open(Kind::object);
            case '[':
                return open(Kind::array);
            case '"': {
                Slice slice;
                if (!string(slice)) return false;
                return add(Kind::text).text = slice, true;
            }
            case 't':
                return word("true") && (add(Kind::boolean).boolean = true);
            case 'f':
                return word("false") && (add(Kind::boolean).boolean = false, true);
            case 'n':
                return word("null") && (add(Kind::null), true);
            default:
                return number();
        }
    }
    /// Behind a value: the ends of the containers that end here, and whether another value follows.
    bool end_values(bool& another) {
        while (!open_.empty()) {
            skip_blanks();
            if (peek() == ',') {
                ++at_;
                skip_blanks();
                return another = true, !in_object() || key();
            }
            if (peek() != closing()) return unexpected(in_object() ? "',' or '}'" : "',' or ']'");
            ++at_;
            close();
        }
        return true;
    }
    bool key() {
        if (peek() != '"') return unexpected("a key in quotes");
        if (!string(key_)) return false;
        skip_blanks();
        if (peek() != ':') return unexpected("':'");
        return ++at_, true;
    }

    bool word(std::string_view expected) {
        for (const char c : expected) {
            if (peek() != c) return unexpected("true, false or null");
            ++at_;
        }
        return true;
    }

    bool string(Slice& slice) {
        std::string& text = content_.text;
        slice.begin = static_cast<std::uint32_t>(text.size());
        for (++at_;;) {
            const char* const start = at_;
            while (at_ < end_ && plain_in_string[static_cast<unsigned char>(*at_)]) ++at_;
            text.append(start, at_);
            const char c = peek();
            if (c == '"') break;
            if (c == '\\') {
                if (!escape()) return false;
            } else if (static_cast<unsigned char>(c) >= 0x80) {
                const Utf8 character = first_character({at_, static_cast<std::size_t>(end_ - at_)});
                if (!character.valid) return wrong("bytes that are not UTF-8");
                text.append(at_, character.length);
                at_ += character.length;
            } else {
                return wrong(c == '\0' ? "a zero byte" : "a control character in a string");
            }
        }
        ++at_;
        slice.length = static_cast<std::uint32_t>(text.size()) - slice.begin;
        return true;
    }
    bool escape() {
        ++at_;
        const char c = peek();
        constexpr std::string_view spelt = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (const auto which = spelt.find(c); c && which != spelt.npos)
            return ++at_, content_.text += meant[which], true;
        if (c != 'u') return wrong("no such escape");
        std::uint32_t code = 0;
        if (!hexadecimal(code)) return false;
        if (code >= 0xdc00 && code < 0xe000) return wrong("half of a surrogate pair");
        if (code >= 0xd800 && code < 0xdc00) {
            std::uint32_t second = 0;
            if (peek() != '\\' || end_ - at_ < 2 || at_[1] != 'u') return wrong("half of a surrogate pair");
            ++at_;
            if (!hexadecimal(second)) return false;
            if (second < 0xdc00 || second >= 0xe000) return wrong("half of a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        }
        append_utf8(content_.text, code);
        return true;
    }
    /// The four digits behind a 'u'.
    bool hexadecimal(std::uint32_t& code) {
        ++at_;
        for (int i = 0; i < 4; ++i, ++at_) {
            const char c = peek();
            const int digit = is_digit(c)            ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) return wrong("four hexadecimal digits expected");
            code = code << 4 | static_cast<std::uint32_t>(digit);
        }
        return true;
    }

    bool number() {
        const char* const start = at_;
        const bool negative = peek() == '-';
        if (negative) ++at_;
        if (!is_digit(peek())) return unexpected(negative ? "a digit" : "a value");
        std::uint64_t whole = 0;
        bool fits = true;
        const bool leading_zero = *at_ == '0';
        do {
            const auto digit = static_cast<std::uint64_t>(*at_ - '0');
            fits = fits && whole <= (UINT64_MAX - digit) / 10;
            whole = whole * 10 + digit;
            ++at_;
        } while (!leading_zero && at_ < end_ && is_digit(*at_));
        const char c = peek();
        if (is_digit(c)) return wrong("a number begins with 0");
        if (c == '.' || c == 'e' || c == 'E') return fraction(start);
        if (!fits || (negative && whole > std::uint64_t{1} << 63)) return real(start);
        if (negative) return add(Kind::negative).negative = static_cast<std::int64_t>(0 - whole), true;
        return add(Kind::count).count = whole, true;
    }
    bool digits() {
        if (!is_digit(peek())) return unexpected("a digit");
        while (at_ < end_ && is_digit(*at_)) ++at_;
        return true;
    }
    bool fraction(const char* start) {
        if (peek() == '.' && (++at_, !digits())) return false;
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (peek() == '+' || peek() == '-') ++at_;
            if (!digits()) return false;
        }
        return real(start);
    }
    bool real(const char* start) {
        double number = 0;
        const auto [end, error] = std::from_chars(start, at_, number);
        if (error == std::errc::result_out_of_range) {
            number = std::strtod(std::string(start, at_).c_str(), nullptr);  // what is too small is 0
            if (std::isinf(number)) {
                at_ = start;
                return wrong("a number that is too large");
            }
        }
        return add(Kind::number).number = number, true;
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    Content& content_;
    std::vector<std::uint32_t> open_;  ///< containers that we are in
    Slice key_;                        ///< of the value that follows
    std::string problem_;
};

/// Parses the value at `at`, which becomes the place behind it. `whole`: nothing may follow.
Result<Document> parse_value(std::string_view text, std::string_view name, bool whole, std::size_t& at) {
    auto content = std::make_unique<Content>();
    const auto wrong = [&](std::size_t byte, std::string_view what) {
        return fail(ErrorCode::bad_input, fmt::format("{}: not valid JSON: {}", place_in(name, text, byte), what));
    };
    if (text.size() >= longest_text) return wrong(0, "the text is longer than 2 GiB");
    Parser parser(text.substr(at), *content);
    const bool parsed = parser.value() && (!whole || parser.end());
    at += parser.position();
    if (!parsed) return wrong(at, parser.problem());
    return Document(std::move(content));
}

}  // namespace

Result<Document> parse(std::string_view text, std::string_view name) {
    std::size_t at = 0;
    return parse_value(text, name, true, at);
}

Result<Document> parse_next(std::string_view text, std::string_view name, std::size_t& at) {
    return parse_value(text, name, false, at);
}

std::string place_in(std::string_view name, std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t line_begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("{}:{}:{}", name, line, before.size() - line_begin + 1);
}

}  // namespace tmaprobe::json
