#include "metrics/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tmaprobe::metrics {

enum class TokenKind : std::uint8_t { end, number, name, constant, symbol, invalid };

struct Token {
    TokenKind kind = TokenKind::end;
    std::uint32_t begin = 0, end = 0;
    double number = 0;
};

namespace {

constexpr std::size_t longest_text = 64 << 10;
constexpr int deepest_nesting = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == ':' ||
           c == '@' || c == '?';
}

/// End of the number that starts here, or `begin` when there is none.
std::size_t scan_number(std::string_view text, std::size_t begin) {
    std::size_t at = begin;
    std::size_t digits = 0;
    while (at < text.size() && is_digit(text[at])) ++at, ++digits;
    if (at < text.size() && text[at] == '.') {
        ++at;
        while (at < text.size() && is_digit(text[at])) ++at, ++digits;
    }
    if (digits == 0) return begin;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t exponent = at + 1;
        if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
        const std::size_t first_digit = exponent;
        while (exponent < text.size() && is_digit(text[exponent])) ++exponent;
        if (exponent > first_digit) at = exponent;
    }
    return at;
}

/// End of the name that starts here. A backslash takes the next character with it, and between two '@'
/// (an encoding) '=' needs no backslash, as upstream's own generator has it.
std::size_t scan_name(std::string_view text, std::size_t begin) {
    std::size_t at = begin;
    bool in_encoding = false;
    while (at < text.size()) {
        if (text[at] == '\\' && at + 1 < text.size()) {
            at += 2;
            continue;
        }
        if (!is_name_character(text[at]) && !(in_encoding && text[at] == '=')) break;
        if (text[at] == '@') in_encoding = !in_encoding;
        ++at;
    }
    return at;
}

Token scan(std::string_view text, std::size_t from) {
    while (from < text.size() && (text[from] == ' ' || text[from] == '\t' || text[from] == '\n' || text[from] == '\r'))
        ++from;
    Token token;
    token.begin = token.end = static_cast<std::uint32_t>(from);
    if (from == text.size()) return token;
    auto ends_at = [&](std::size_t end, TokenKind kind) {
        token.end = static_cast<std::uint32_t>(end);
        token.kind = kind;
        return token;
    };
    if (text[from] == '#') {
        std::size_t end = from + 1;
        while (end < text.size() && (is_name_character(text[end]) || text[end] == '-')) ++end;
        return ends_at(end, end == from + 1 ? TokenKind::invalid : TokenKind::constant);
    }
    // The longer match wins and a number wins a tie: "0x10" and "1per" are names, "1e9" is a number.
    const std::size_t number_end = scan_number(text, from);
    const std::size_t name_end = scan_name(text, from);
    if (number_end > from && number_end >= name_end) {
        const auto [end, problem] = std::from_chars(text.data() + from, text.data() + number_end, token.number);
        if (problem != std::errc{}) return ends_at(number_end, TokenKind::invalid);
        return ends_at(number_end, TokenKind::number);
    }
    if (name_end > from) return ends_at(name_end, TokenKind::name);
    constexpr std::string_view symbols = "|^&<>+-*/%(),";
    return ends_at(from + 1, symbols.find(text[from]) == symbols.npos ? TokenKind::invalid : TokenKind::symbol);
}

struct Binary {
    char symbol;
    Operator operation;
    int precedence;
};

constexpr std::array binaries = {
    Binary{'|', Operator::logical_or, 1}, Binary{'^', Operator::logical_xor, 2}, Binary{'&', Operator::logical_and, 3},
    Binary{'<', Operator::less, 4},       Binary{'>', Operator::greater, 4},     Binary{'+', Operator::add, 5},
    Binary{'-', Operator::subtract, 5},   Binary{'*', Operator::multiply, 6},    Binary{'/', Operator::divide, 6},
    Binary{'%', Operator::modulo, 6},
};
constexpr int tightest_binary = 6;

struct Function {
    std::string_view name;
    Operator operation;
    bool of_name;  ///< takes one name instead of two values
};

constexpr std::array functions = {
    Function{"min", Operator::minimum, false},           Function{"max", Operator::maximum, false},
    Function{"d_ratio", Operator::d_ratio, false},       Function{"source_count", Operator::source_count, true},
    Function{"aggr_nr", Operator::aggr_nr, true},        Function{"has_event", Operator::has_event, true},
    Function{"strcmp_cpuid_str", Operator::cpuid, true},
};

}  // namespace

/// Recursive descent with precedence climbing. After the first error every function returns at once.
class ExpressionParser {
  public:
    explicit ExpressionParser(std::string_view text) { expression_.text_ = std::string(text); }

    Result<Expression> parse() {
        if (expression_.text_.size() > longest_text)
            return fail(ErrorCode::bad_input, fmt::format("expression of {} bytes; the longest allowed has {}",
                                                          expression_.text_.size(), longest_text));
        advance();
        conditional();
        if (problem_.empty() && token_.kind != TokenKind::end) unexpected();
        if (!problem_.empty()) return fail(ErrorCode::bad_input, problem_);
        return std::move(expression_);
    }

  private:
    std::string_view text_of(const Token& token) const {
        return std::string_view(expression_.text_).substr(token.begin, token.end - token.begin);
    }
    bool at_symbol(char symbol) const {
        return token_.kind == TokenKind::symbol && expression_.text_[token_.begin] == symbol;
    }
    bool at_word(std::string_view word) const { return token_.kind == TokenKind::name && text_of(token_) == word; }

    void advance() {
        previous_end_ = token_.end;
        token_ = scan(expression_.text_, token_.end);
    }

    void problem(std::string what) {
        if (problem_.empty()) problem_ = fmt::format("{} at column {} of the expression", what, token_.begin + 1);
        // Nothing more is read: every caller sees the end.
        token_ = Token{TokenKind::end, token_.begin, token_.begin, 0};
    }

    void unexpected(std::string_view wanted = {}) {
        const std::string found = token_.kind == TokenKind::end ? "the end" : fmt::format("'{}'", text_of(token_));
        problem(wanted.empty() ? fmt::format("unexpected {}", found)
                               : fmt::format("expected {}, found {}", wanted, found));
    }

    void expect(char symbol) {
        if (at_symbol(symbol))
            advance();
        else
            unexpected(fmt::format("'{}'", symbol));
    }

    std::uint32_t add(ExpressionNode node, std::uint32_t begin) {
        node.begin = begin;
        node.end = previous_end_;
        expression_.nodes_.push_back(node);
        return static_cast<std::uint32_t>(expression_.nodes_.size() - 1);
    }

    std::uint32_t name_index(std::string_view name) {
        const auto index = std::ranges::find(expression_.names_, name) - expression_.names_.begin();
        if (index == std::ssize(expression_.names_)) expression_.names_.emplace_back(name);
        return static_cast<std::uint32_t>(index);
    }

    /// conditional: binary [ "if" binary "else" conditional ]
    std::uint32_t conditional() {
        if (++depth_ > deepest_nesting) problem("nested too deeply");
        const std::uint32_t begin = token_.begin;
        std::uint32_t value = binary(1);
        if (problem_.empty() && at_word("if")) {
            advance();
            const std::uint32_t condition = binary(1);
            if (at_word("else"))
                advance();
            else
                unexpected("'else'");
            const std::uint32_t otherwise = conditional();
            value =
                add({.operation = Operator::choose, .first = value, .second = condition, .third = otherwise}, begin);
        }
        --depth_;
        return value;
    }

    std::uint32_t binary(int precedence) {
        if (precedence > tightest_binary) return unary();
        const std::uint32_t begin = token_.begin;
        std::uint32_t left = binary(precedence + 1);
        while (problem_.empty() && token_.kind == TokenKind::symbol) {
            const auto found = std::ranges::find_if(binaries, [&](const Binary& candidate) {
                return candidate.precedence == precedence && at_symbol(candidate.symbol);
            });
            if (found == binaries.end()) break;
            advance();
            const std::uint32_t right = binary(precedence + 1);
            left = add({.operation = found->operation, .first = left, .second = right}, begin);
        }
        return left;
    }

    std::uint32_t unary() {
        const std::uint32_t begin = token_.begin;
        if (!at_symbol('-')) return primary();
        advance();
        if (++depth_ > deepest_nesting) problem("nested too deeply");
        const std::uint32_t operand = unary();
        --depth_;
        return add({.operation = Operator::negate, .first = operand}, begin);
    }

    std::uint32_t primary() {
        const std::uint32_t begin = token_.begin;
        if (token_.kind == TokenKind::number) {
            const double number = token_.number;
            advance();
            return add({.operation = Operator::number, .number = number}, begin);
        }
        if (token_.kind == TokenKind::constant) {
            const std::uint32_t index = name_index(text_of(token_));
            advance();
            return add({.operation = Operator::constant, .first = index}, begin);
        }
        if (token_.kind == TokenKind::name) return named();
        if (at_symbol('(')) {
            advance();
            const std::uint32_t inner = conditional();
            expect(')');
            return inner;
        }
        unexpected("a value");
        return 0;
    }

    std::uint32_t named() {
        const std::uint32_t begin = token_.begin;
        if (at_word("if") || at_word("else")) {
            unexpected("a value");
            return 0;
        }
        for (const Function& function : functions)
            if (at_word(function.name)) return call(function);
        if (at_word("NaN")) {
            advance();
            return add({.operation = Operator::number, .number = std::numeric_limits<double>::quiet_NaN()}, begin);
        }
        const std::uint32_t index = name_index(text_of(token_));
        advance();
        return add({.operation = Operator::name, .first = index}, begin);
    }

    std::uint32_t call(const Function& function) {
        const std::uint32_t begin = token_.begin;
        advance();
        expect('(');
        ExpressionNode node{.operation = function.operation};
        if (function.of_name) {
            // An id such as 0x410fd490 reads as a name; a plain number can be one too.
            if (token_.kind != TokenKind::name && token_.kind != TokenKind::number) {
                unexpected("a name");
                return 0;
            }
            node.first = name_index(text_of(token_));
            advance();
        } else {
            node.first = conditional();
            expect(',');
            node.second = conditional();
        }
        expect(')');
        return add(node, begin);
    }

    Expression expression_;
    Token token_;
    std::uint32_t previous_end_ = 0;
    std::string problem_;
    int depth_ = 0;
};

std::string without_escapes(std::string text) {
    std::erase(text, '\\');
    return text;
}

Result<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).parse(); }

}  // namespace tmaprobe::metrics
