#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe::json {

/// How JSON is laid out.
enum class Layout {
    indented,    ///< a line per value, indented by one blank; the text ends with a newline
    line,        ///< on one line
    ascii_line,  ///< the same, what is not ASCII escaped: for readers that end lines at other characters than the
                 ///< newline
    script,      ///< on one line, and no '<' in it: may stand inside a script element of a page
};

/// Writes one JSON value from front to back. What is not UTF-8 becomes U+FFFD, and a number that JSON cannot
/// hold becomes null: texts come from files, kernels and users, and a writer that refuses would lose the rest.
class Writer {
  public:
    explicit Writer(Layout layout = Layout::line) : layout_(layout) {}

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);

    void null() { plain("null"); }
    void boolean(bool value) { plain(value ? "true" : "false"); }
    void number(double value);
    void count(std::uint64_t value);
    void integer(std::int64_t value);
    void text(std::string_view value);

    // Of whatever type.
    void value(bool given) { boolean(given); }
    void value(double given) { number(given); }
    void value(std::unsigned_integral auto given) { count(given); }
    void value(std::signed_integral auto given) { integer(given); }
    void value(std::string_view given) { text(given); }
    void value(const char* given) { text(given); }
    void value(const std::string& given) { text(given); }
    template <class Element>
    void value(const std::vector<Element>& list) {
        begin_array();
        for (const auto& element : list) value(element);
        end_array();
    }
    /// A member of an object.
    template <class Given>
    void member(std::string_view name, const Given& given) {
        key(name);
        value(given);
    }

    /// What was written; the writer is empty afterwards.
    std::string take();

  private:
    void plain(std::string_view token);
    void open(char bracket);
    void close(char bracket);
    void before_value();
    void break_line();
    void quoted(std::string_view value);

    Layout layout_;
    std::string out_;
    std::vector<bool> has_content_;  ///< of each open container
    bool after_key_ = false;
};

}  // namespace tmaprobe::json
