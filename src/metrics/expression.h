#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tmaprobe::metrics {

/// What one node of an expression does with its operands.
enum class Operator : std::uint8_t {
    number,        ///< a literal
    name,          ///< an event or another metric
    constant,      ///< "#smt_on", "#slots", ...
    source_count,  ///< how many instances of an event's unit were summed
    aggr_nr,       ///< how many CPUs were summed
    has_event,     ///< 1 when the CPU has the event
    cpuid,         ///< strcmp_cpuid_str: 1 when the CPU's id matches
    logical_or,
    logical_xor,
    logical_and,
    less,
    greater,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    negate,
    minimum,
    maximum,
    d_ratio,  ///< division that gives 0 for a zero divisor
    choose,   ///< first if second else third
};

/// One node; operands are indices of earlier nodes, so that one walk forward evaluates everything.
struct ExpressionNode {
    Operator operation = Operator::number;
    std::uint32_t first = 0, second = 0, third = 0;  ///< operands; for names: first = index into names()
    double number = 0;
    std::uint32_t begin = 0, end = 0;  ///< the part of the text that it stands for
};

/// As people read an expression or a name in it: "topdown\-retiring" is topdown-retiring.
std::string without_escapes(std::string text);

/// A parsed metric expression in the language of Linux's perf (tools/perf/util/expr.y), which is:
/// `a if b else c`, then | ^ & (logical), then < >, then + -, then * / %, then unary minus; functions
/// min, max, d_ratio, source_count, aggr_nr, has_event and strcmp_cpuid_str; #constants; names that may
/// hold escaped characters ("topdown\-retiring") and encodings ("cpu@EVENT\,cmask\=1@").
class Expression {
  public:
    /// Errors: bad_input with the column (1-based) of the first character that does not fit, also for
    /// text longer than 64 KiB or nested deeper than 200 levels.
    static Result<Expression> parse(std::string_view text);

    const std::string& text() const { return text_; }
    /// In order of evaluation; the last one is the expression's value.
    const std::vector<ExpressionNode>& nodes() const { return nodes_; }
    /// Distinct events, metrics, constants and CPU ids, as spelt, in order of appearance.
    const std::vector<std::string>& names() const { return names_; }

  private:
    friend class ExpressionParser;
    std::string text_;
    std::vector<ExpressionNode> nodes_;
    std::vector<std::string> names_;
};

}  // namespace tmaprobe::metrics
