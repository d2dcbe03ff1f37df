#include "metrics/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "metrics/cpuid.h"

namespace tmaprobe::metrics {
namespace {

EvaluatedValue without_value(MissingCause::Kind kind, std::size_t index = 0, const Expression* expression = nullptr) {
    return {0, {kind, static_cast<std::uint32_t>(index), expression}};
}

/// Three-valued: one decisive operand is enough, as perf has it.
EvaluatedValue logical(Operator operation, const EvaluatedValue& a, const EvaluatedValue& b) {
    const double decisive = operation == Operator::logical_or ? 1 : 0;
    if (operation != Operator::logical_xor) {
        if (a.known() && (a.value != 0) == (decisive != 0)) return {decisive, {}};
        if (b.known() && (b.value != 0) == (decisive != 0)) return {decisive, {}};
    }
    if (!a.known()) return a;
    if (!b.known()) return b;
    if (operation == Operator::logical_xor) return {(a.value != 0) != (b.value != 0) ? 1.0 : 0.0, {}};
    return {1 - decisive, {}};
}

double arithmetic(Operator operation, double a, double b) {
    switch (operation) {
        case Operator::less:
            return a < b ? 1 : 0;
        case Operator::greater:
            return a > b ? 1 : 0;
        case Operator::add:
            return a + b;
        case Operator::subtract:
            return a - b;
        case Operator::multiply:
            return a * b;
        case Operator::minimum:
            return std::min(a, b);
        case Operator::maximum:
            return std::max(a, b);
        default:
            return a / b;  // divide and d_ratio; a zero divisor was dealt with before
    }
}

/// perf takes both operands as whole numbers.
EvaluatedValue modulo(double a, double b, std::size_t node, const Expression* expression) {
    constexpr double largest = 9e18;
    if (std::abs(a) > largest || std::abs(b) > largest) return without_value(MissingCause::Kind::not_finite);
    const auto divisor = static_cast<long long>(b);
    if (divisor == 0) return without_value(MissingCause::Kind::division, node, expression);
    return {static_cast<double>(static_cast<long long>(a) % divisor), {}};
}

}  // namespace

bool reads_input(Operator operation) {
    switch (operation) {
        case Operator::name:
        case Operator::constant:
        case Operator::source_count:
        case Operator::aggr_nr:
        case Operator::has_event:
        case Operator::cpuid:
            return true;
        default:
            return false;
    }
}

Evaluation::Evaluation(const Formulas& formulas, const Counts& counts, const Constants& constants)
    : formulas_(formulas), results_(formulas.metrics_.size(), without_value(MissingCause::Kind::missing)) {
    read_inputs(counts, constants);
}

void Evaluation::read_inputs(const Counts& counts, const Constants& constants) {
    inputs_.reserve(formulas_.inputs_.size());
    for (std::size_t i = 0; i < formulas_.inputs_.size(); ++i) {
        const auto& input = formulas_.inputs_[i];
        EvaluatedValue value = without_value(MissingCause::Kind::missing, i);
        if (input.operation == Operator::constant) {
            std::string name = input.name;
            std::ranges::transform(name, name.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            const auto found = constants.values.find(name);
            value = found == constants.values.end() ? without_value(MissingCause::Kind::constant, i)
                                                    : EvaluatedValue{found->second, {}};
        } else if (input.operation == Operator::cpuid) {
            value = constants.cpu_id.empty()
                        ? without_value(MissingCause::Kind::constant, i)
                        : EvaluatedValue{cpuid_matches(without_escapes(input.name), constants.cpu_id) ? 1.0 : 0.0, {}};
        } else if (input.operation == Operator::has_event) {
            if (constants.has_event)
                value = {constants.has_event(input.name) ? 1.0 : 0.0, {}};
            else if (!counts.empty())
                value = {counts.contains(input.name) ? 1.0 : 0.0, {}};
        } else if (const auto found = counts.find(input.name); found != counts.end()) {
            const Count& count = found->second;
            if (!count.counted)
                value = without_value(MissingCause::Kind::not_counted, i);
            else if (input.operation == Operator::source_count)
                value = {count.sources, {}};
            else if (input.operation == Operator::aggr_nr)
                value = {count.cpus, {}};
            else {
                value = {count.value, {}};
                if (count.low < count.high) uncertain_.push_back({i, count.low, count.high});
            }
        }
        if (value.known() && !std::isfinite(value.value)) value = without_value(MissingCause::Kind::not_finite, i);
        inputs_.push_back(value);
    }
}

void Evaluation::compute_nodes(const Formulas::Bound& bound, std::vector<EvaluatedValue>& nodes) const {
    const auto& definition = bound.expression.nodes();
    nodes.resize(definition.size());
    for (std::size_t i = 0; i < definition.size(); ++i) {
        const ExpressionNode& node = definition[i];
        if (node.operation == Operator::number) {
            nodes[i] = std::isnan(node.number) ? without_value(MissingCause::Kind::not_finite)
                                               : EvaluatedValue{node.number, {}};
            continue;
        }
        if (reads_input(node.operation)) {
            const auto& binding = bound.bindings[i];
            nodes[i] =
                binding.kind == Formulas::Binding::Kind::metric ? results_[binding.index] : inputs_[binding.index];
            continue;
        }
        const EvaluatedValue& a = nodes[node.first];
        const EvaluatedValue& b = nodes[node.second];
        switch (node.operation) {
            case Operator::negate:
                nodes[i] = a.known() ? EvaluatedValue{-a.value, {}} : a;
                break;
            case Operator::choose:
                nodes[i] = !b.known() ? b : b.value != 0 ? a : nodes[node.third];
                break;
            case Operator::logical_or:
            case Operator::logical_and:
            case Operator::logical_xor:
                nodes[i] = logical(node.operation, a, b);
                break;
            default:
                if (!a.known())
                    nodes[i] = a;
                else if (!b.known())
                    nodes[i] = b;
                else if (node.operation == Operator::modulo)
                    nodes[i] = modulo(a.value, b.value, i, &bound.expression);
                else if (node.operation == Operator::divide && b.value == 0)
                    nodes[i] = without_value(MissingCause::Kind::division, i, &bound.expression);
                else if (node.operation == Operator::d_ratio && b.value == 0)
                    nodes[i] = EvaluatedValue{};
                else
                    nodes[i] = EvaluatedValue{arithmetic(node.operation, a.value, b.value), {}};
        }
    }
}

EvaluatedValue Evaluation::compute(const Formulas::Bound& bound) const {
    compute_nodes(bound, nodes_);
    const EvaluatedValue& value = nodes_.back();
    if (value.known() && !std::isfinite(value.value)) return without_value(MissingCause::Kind::not_finite);
    return value;
}

std::vector<MetricValue> Evaluation::values() {
    // In order: what a metric names has its result before it.
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i] = compute(formulas_.metrics_[i].value);
    const std::vector<Bounds> metric_bounds = bounds(formulas_.wanted_);
    std::vector<std::size_t> limits;
    for (const auto& of_metric : formulas_.limits_)
        for (const auto& limit : {of_metric.low, of_metric.high})
            if (limit) limits.push_back(*limit);
    const std::vector<Bounds> limit_bounds = limits.empty() ? std::vector<Bounds>{} : bounds(limits);
    std::size_t next_limit = 0;
    std::vector<MetricValue> values;
    values.reserve(formulas_.wanted_.size());
    for (std::size_t i = 0; i < formulas_.wanted_.size(); ++i) {
        const auto& metric = formulas_.metrics_[formulas_.wanted_[i]];
        const EvaluatedValue& result = results_[formulas_.wanted_[i]];
        MetricValue value;
        value.name = metric.name;
        value.definition = metric.definition;
        if (result.known()) {
            value.outcome = Outcome::value;
            value.value = result.value;
            value.low = metric_bounds[i].low;
            value.high = metric_bounds[i].high;
            value.bounded = metric_bounds[i].known;
        } else {
            value.outcome =
                result.cause.kind == MissingCause::Kind::not_counted ? Outcome::not_counted : Outcome::unavailable;
            value.reason = reason(result.cause);
        }
        set_limits(i, limit_bounds, next_limit, value);
        if (!metric.threshold.expression.nodes().empty())
            if (const EvaluatedValue over = compute(metric.threshold); over.known())
                value.over_threshold = over.value != 0;
        values.push_back(std::move(value));
    }
    return values;
}

/// Takes a metric's limits, in the order in which they were bounded, as its low and high.
void Evaluation::set_limits(std::size_t wanted, const std::vector<Bounds>& limits, std::size_t& next,
                            MetricValue& value) const {
    const auto& [low, high] = formulas_.limits_[wanted];
    const auto take = [&](std::size_t limit) -> const Bounds* {
        const Bounds& bounds = limits[next++];
        const bool known = results_[limit].known() && bounds.known;
        if (!known) value.bounded = false;
        return known ? &bounds : nullptr;
    };
    if (low)
        if (const Bounds* bounds = take(*low)) value.low = std::min(value.value, bounds->low);
    if (high)
        if (const Bounds* bounds = take(*high)) value.high = std::max(value.value, bounds->high);
}

std::string Evaluation::reason(const MissingCause& cause) const {
    const auto input = [&] { return without_escapes(formulas_.inputs_[cause.index].name); };
    switch (cause.kind) {
        case MissingCause::Kind::missing:
            return fmt::format("no count of {}", input());
        case MissingCause::Kind::not_counted:
            return fmt::format("{} was not counted", input());
        case MissingCause::Kind::constant:
            return fmt::format("{} is not known", input());
        case MissingCause::Kind::division: {
            const ExpressionNode& divisor = cause.expression->nodes()[cause.expression->nodes()[cause.index].second];
            const auto text = cause.expression->text().substr(divisor.begin, divisor.end - divisor.begin);
            return fmt::format("division by zero: {} is 0", without_escapes(std::string(text)));
        }
        default:
            return "the result is not a finite number";
    }
}

std::vector<Formulas::Binding> Evaluation::live_leaves(const Formulas::Bound& bound) const {
    // Made from no counts: every metric and event is unknown, so a node is known only by constants.
    const auto& definition = bound.expression.nodes();
    std::vector<EvaluatedValue> nodes(definition.size());
    std::vector<bool> live(definition.size(), false);
    std::vector<Formulas::Binding> leaves;
    if (definition.empty()) return leaves;
    compute_nodes(bound, nodes);
    live.back() = true;
    for (std::size_t i = definition.size(); i-- > 0;) {
        const ExpressionNode& node = definition[i];
        if (!live[i] || nodes[i].known()) continue;
        if (reads_input(node.operation)) continue;
        if (node.operation == Operator::choose && nodes[node.second].known()) {
            live[nodes[node.second].value != 0 ? node.first : node.third] = true;
            continue;
        }
        if (node.operation == Operator::number) continue;
        live[node.first] = true;
        if (node.operation != Operator::negate) live[node.second] = true;
        if (node.operation == Operator::choose) live[node.third] = true;
    }
    for (std::size_t i = 0; i < definition.size(); ++i) {
        const Operator operation = definition[i].operation;
        const bool event =
            operation == Operator::name || operation == Operator::source_count || operation == Operator::aggr_nr;
        if (live[i] && event && !nodes[i].known()) leaves.push_back(bound.bindings[i]);
    }
    return leaves;
}

}  // namespace tmaprobe::metrics
