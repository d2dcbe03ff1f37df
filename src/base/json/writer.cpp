#include "base/json/writer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/utf8.h"

namespace tmaprobe::json {

std::string Writer::take() {
    if (layout_ == Layout::indented) out_ += '\n';
    has_content_.clear();
    after_key_ = false;
    return std::exchange(out_, {});
}

void Writer::key(std::string_view name) {
    before_value();
    quoted(name);
    out_ += layout_ == Layout::indented ? ": " : ":";
    after_key_ = true;
}

void Writer::number(double value) {
    if (!std::isfinite(value)) return null();
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string_view shortest(digits, static_cast<std::size_t>(end - digits));
    before_value();
    out_ += shortest;
    // What is a fraction by type stays one for readers that tell 3 from 3.0.
    if (shortest.find_first_of(".e") == shortest.npos) out_ += ".0";
}

void Writer::count(std::uint64_t value) { plain(fmt::format_int(value).c_str()); }

void Writer::integer(std::int64_t value) { plain(fmt::format_int(value).c_str()); }

void Writer::text(std::string_view value) {
    before_value();
    quoted(value);
}

void Writer::plain(std::string_view token) {
    before_value();
    out_ += token;
}

void Writer::open(char bracket) {
    before_value();
    out_ += bracket;
    has_content_.push_back(false);
}

void Writer::close(char bracket) {
    const bool had_content = has_content_.back();
    has_content_.pop_back();
    if (had_content) break_line();
    out_ += bracket;
}

void Writer::before_value() {
    if (std::exchange(after_key_, false) || has_content_.empty()) return;
    if (has_content_.back()) out_ += ',';
    has_content_.back() = true;
    break_line();
}

void Writer::break_line() {
    if (layout_ != Layout::indented) return;
    out_ += '\n';
    out_.append(has_content_.size(), ' ');
}

void Writer::quoted(std::string_view value) {
    out_ += '"';
    for (std::size_t at = 0; at < value.size();) {
        const Utf8 character = first_character(value.substr(at));
        const std::string_view bytes = value.substr(at, character.length);
        at += character.length;
        const std::uint32_t code = character.valid ? character.code : replacement_character;
        switch (code) {
            case '"':
                out_ += "\\\"";
                continue;
            case '\\':
                out_ += "\\\\";
                continue;
            case '\b':
                out_ += "\\b";
                continue;
            case '\f':
                out_ += "\\f";
                continue;
            case '\n':
                out_ += "\\n";
                continue;
            case '\r':
                out_ += "\\r";
                continue;
            case '\t':
                out_ += "\\t";
                continue;
            default:
                break;
        }
        const bool escaped =
            code < 0x20 || (code == '<' && layout_ == Layout::script) || (code > 0x7e && layout_ == Layout::ascii_line);
        if (!escaped) {
            out_ += character.valid ? bytes : "\xef\xbf\xbd";
        } else if (code > 0xffff) {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10),
                           0xdc00 + (code & 0x3ff));
        } else {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", code);
        }
    }
    out_ += '"';
}

}  // namespace tmaprobe::json
