#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/evaluate.h"
#include "metrics/expression.h"

namespace tmaprobe::metrics {

/// Metric definitions compiled for many evaluations: parsed once, nested metrics resolved, in an order
/// in which each metric comes after those that it names.
///
/// Where an input is missing the result is unavailable: unlike perf, `max(missing, 0)` is not 0 and
/// `a if missing else b` is not a, because a number made so looks like a measured one.
class Formulas {
  public:
    /// Compiles the wanted metrics (indices into definitions; all when empty), those they name, and their
    /// expressions for low and high.
    /// Errors: bad_input when an expression does not parse or a metric names itself in a circle.
    static Result<Formulas> compile(const std::vector<MetricDefinition>& definitions,
                                    const std::vector<std::size_t>& wanted);

    /// One value per wanted metric, in the order wanted. Bounds: see bounds.h.
    std::vector<MetricValue> evaluate(const Counts& counts, const Constants& constants) const;

    /// The events that the wanted metrics need, each spelt as in the table, once, in order of first
    /// appearance. Branches that the constants rule out need nothing; thresholds need nothing.
    std::vector<std::string> events_needed(const Constants& constants) const;

    /// The same for each wanted metric by itself, in the order wanted.
    std::vector<std::vector<std::string>> events_per_metric(const Constants& constants) const;

  private:
    friend class FormulasCompiler;
    friend class Evaluation;

    /// What a leaf of an expression reads.
    struct Binding {
        enum class Kind : std::uint8_t { none, input, metric } kind = Kind::none;
        std::uint32_t index = 0;  ///< into inputs_ or metrics_
    };
    /// An expression with one binding per node.
    struct Bound {
        Expression expression;
        std::vector<Binding> bindings;
    };
    /// Something from outside: an event, a constant, a property of an event or of the CPU.
    struct Input {
        Operator operation = Operator::name;
        std::string name;
    };
    struct Compiled {
        std::size_t definition = 0;
        std::string name;
        Bound value;
        Bound threshold;  ///< without nodes: there is none
    };

    /// Where the limits of a wanted metric are among metrics_; none: the metric itself.
    struct Limits {
        std::optional<std::size_t> low, high;
    };

    std::vector<Compiled> metrics_;  ///< in order of evaluation
    std::vector<Input> inputs_;
    std::vector<std::size_t> wanted_;  ///< indices into metrics_
    std::vector<Limits> limits_;       ///< of each wanted metric
};

}  // namespace tmaprobe::metrics
