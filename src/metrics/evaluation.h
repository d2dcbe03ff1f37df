#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/formulas.h"

namespace tmaprobe::metrics {

/// True for the leaves that read something from outside the expression.
bool reads_input(Operator operation);

/// Why there is no value.
struct MissingCause {
    enum class Kind : std::uint8_t {
        none,
        missing,      ///< an event without a count
        not_counted,  ///< an event whose counter never ran
        constant,     ///< a #constant that is not known
        division,     ///< by zero
        not_finite,   ///< overflow, or NaN written in the expression
    } kind = Kind::none;
    std::uint32_t index = 0;                 ///< the input, or the node that divides
    const Expression* expression = nullptr;  ///< of the node
};

/// A number, or a cause; value means nothing when there is a cause.
struct EvaluatedValue {
    double value = 0;
    MissingCause cause;
    bool known() const { return cause.kind == MissingCause::Kind::none; }
};

/// One evaluation of Formulas on one set of counts. Lives for one call.
///
/// Bounds: every input that has low < high is moved to each of its ends while the others stay, which
/// tells in which direction each metric follows it; then all inputs of a metric are moved together to
/// the ends that lower it, and to those that raise it. For a metric that is monotone in each input
/// within the box (every ratio and difference of the published tables is, save where max(0, ...) cuts in)
/// that is its exact range over the box, however the errors are correlated between metrics; and because
/// the inputs are moved, not the metrics named inside, what cancels in the formula cancels in the bounds
/// (a node that is 1 minus its siblings keeps their sum). Adding up intervals would lose that.
class Evaluation {
  public:
    Evaluation(const Formulas& formulas, const Counts& counts, const Constants& constants);

    std::vector<MetricValue> values();

    /// The leaves of an expression that can influence it, given what the constants already decide.
    std::vector<Formulas::Binding> live_leaves(const Formulas::Bound& bound) const;

  private:
    struct Uncertain {
        std::size_t input = 0;
        double low = 0, high = 0;
    };
    struct Bounds {
        double low = 0, high = 0;
        bool known = true;
    };

    void read_inputs(const Counts& counts, const Constants& constants);
    void compute_nodes(const Formulas::Bound& bound, std::vector<EvaluatedValue>& nodes) const;
    EvaluatedValue compute(const Formulas::Bound& bound) const;
    std::vector<Bounds> bounds(const std::vector<std::size_t>& wanted);
    void set_limits(std::size_t wanted, const std::vector<Bounds>& limits, std::size_t& next, MetricValue& value) const;
    std::string reason(const MissingCause& cause) const;

    const Formulas& formulas_;
    std::vector<EvaluatedValue> inputs_;
    std::vector<Uncertain> uncertain_;
    std::vector<EvaluatedValue> results_;  ///< one per Formulas::metrics_
    mutable std::vector<EvaluatedValue> nodes_;
};

}  // namespace tmaprobe::metrics
