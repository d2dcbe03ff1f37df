#include "metrics/formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "metrics/evaluation.h"

namespace tmaprobe::metrics {

/// Collects the wanted metrics and those they name, then orders them.
class FormulasCompiler {
  public:
    explicit FormulasCompiler(const std::vector<MetricDefinition>& definitions)
        : definitions_(definitions), state_(definitions.size(), State::unseen), place_(definitions.size(), 0) {
        for (std::size_t i = 0; i < definitions.size(); ++i) by_name_[definitions[i].name].push_back(i);
    }

    Result<Formulas> compile(const std::vector<std::size_t>& wanted) {
        for (const std::size_t definition : wanted) TRY(place(definition));
        // Thresholds may name any metric, themselves included, so they come when all metrics have a place;
        // the metrics that only they name are compiled here.
        for (std::size_t i = 0; i < formulas_.metrics_.size(); ++i) TRY(bind_threshold(i));
        for (const std::size_t definition : wanted) formulas_.wanted_.push_back(place_[definition]);
        for (const std::size_t definition : wanted) {
            const auto low = TRY(limit(definition, definitions_[definition].low_expression, "low"));
            const auto high = TRY(limit(definition, definitions_[definition].high_expression, "high"));
            formulas_.limits_.push_back({low, high});
        }
        return std::move(formulas_);
    }

  private:
    enum class State : std::uint8_t { unseen, open, placed };
    struct Frame {
        std::size_t definition = 0;
        Expression expression;
        std::size_t next_name = 0;
    };

    /// The metric that a name means inside `from`: one of the same PMU first, as hybrids have two of a name.
    std::optional<std::size_t> metric_named(const std::string& name, std::size_t from) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return std::nullopt;
        const std::string& pmu = definitions_[from].pmu;
        for (const std::size_t candidate : found->second)
            if (definitions_[candidate].pmu == pmu) return candidate;
        for (const std::size_t candidate : found->second)
            if (definitions_[candidate].pmu.empty() || pmu.empty()) return candidate;
        return std::nullopt;
    }

    Result<Expression> parse(std::size_t definition, const std::string& text, std::string_view what) const {
        auto parsed = Expression::parse(text);
        if (!parsed)
            return fail(ErrorCode::bad_input,
                        fmt::format("{} of metric {}: {}", what, definitions_[definition].name, parsed.error().what));
        return parsed;
    }

    /// Gives the metric and all that it names a place in the order of evaluation. Its own stack, so that
    /// a hostile chain of metrics cannot exhaust the thread's.
    Result<> place(std::size_t root) {
        std::vector<Frame> stack;
        const auto open = [&](std::size_t definition) -> Result<> {
            auto parsed = TRY(parse(definition, definitions_[definition].expression, "expression"));
            state_[definition] = State::open;
            stack.push_back({definition, std::move(parsed), 0});
            return {};
        };
        if (state_[root] == State::placed) return {};
        if (auto opened = open(root); !opened) return opened;
        while (!stack.empty()) {
            Frame& frame = stack.back();
            if (frame.next_name == frame.expression.names().size()) {
                finish(std::move(frame));
                stack.pop_back();
                continue;
            }
            const auto metric = metric_named(frame.expression.names()[frame.next_name++], frame.definition);
            if (!metric || state_[*metric] == State::placed) continue;
            if (state_[*metric] == State::open) return circle(stack, *metric);
            if (auto opened = open(*metric); !opened) return opened;
        }
        return {};
    }

    Result<> circle(const std::vector<Frame>& stack, std::size_t metric) const {
        std::string path;
        bool inside = false;
        for (const Frame& frame : stack) {
            inside = inside || frame.definition == metric;
            if (inside) path += definitions_[frame.definition].name + " -> ";
        }
        return fail(ErrorCode::bad_input,
                    fmt::format("metric {0} names itself in a circle: {1}{0}", definitions_[metric].name, path));
    }

    void finish(Frame frame) {
        Formulas::Compiled compiled;
        compiled.definition = frame.definition;
        compiled.name = definitions_[frame.definition].name;
        compiled.value = bind(std::move(frame.expression), frame.definition);
        state_[frame.definition] = State::placed;
        place_[frame.definition] = formulas_.metrics_.size();
        formulas_.metrics_.push_back(std::move(compiled));
    }

    /// One limit of a metric, after all that it names; nothing where the table gives none.
    Result<std::optional<std::size_t>> limit(std::size_t definition, const std::string& text, std::string_view what) {
        if (text.empty()) return std::nullopt;
        auto parsed = TRY(parse(definition, text, what));
        for (const std::string& name : parsed.names())
            if (const auto metric = metric_named(name, definition)) TRY(place(*metric));
        Formulas::Compiled compiled;
        compiled.definition = definition;
        compiled.name = fmt::format("{} of {}", what, definitions_[definition].name);
        compiled.value = bind(std::move(parsed), definition);
        formulas_.metrics_.push_back(std::move(compiled));
        return std::optional(formulas_.metrics_.size() - 1);
    }

    Result<> bind_threshold(std::size_t index) {
        const std::size_t definition = formulas_.metrics_[index].definition;
        const std::string& text = definitions_[definition].threshold;
        if (text.empty()) return {};
        auto parsed = TRY(parse(definition, text, "threshold"));
        for (const std::string& name : parsed.names())
            if (const auto metric = metric_named(name, definition))
                if (auto placed = place(*metric); !placed) return placed;
        formulas_.metrics_[index].threshold = bind(std::move(parsed), definition);
        return {};
    }

    Formulas::Bound bind(Expression expression, std::size_t definition) {
        Formulas::Bound bound;
        bound.bindings.reserve(expression.nodes().size());
        for (const ExpressionNode& node : expression.nodes())
            bound.bindings.push_back(binding(expression, node, definition));
        bound.expression = std::move(expression);
        return bound;
    }

    Formulas::Binding binding(const Expression& expression, const ExpressionNode& node, std::size_t definition) {
        using Kind = Formulas::Binding::Kind;
        if (!reads_input(node.operation)) return {};
        const std::string& name = expression.names()[node.first];
        if (node.operation == Operator::name)
            if (const auto metric = metric_named(name, definition))
                return {Kind::metric, static_cast<std::uint32_t>(place_[*metric])};
        return {Kind::input, input(node.operation, name)};
    }

    std::uint32_t input(Operator operation, const std::string& name) {
        auto& indices = inputs_by_name_[name];
        for (const std::uint32_t index : indices)
            if (formulas_.inputs_[index].operation == operation) return index;
        const auto index = static_cast<std::uint32_t>(formulas_.inputs_.size());
        formulas_.inputs_.push_back({operation, name});
        indices.push_back(index);
        return index;
    }

    const std::vector<MetricDefinition>& definitions_;
    std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;
    std::unordered_map<std::string, std::vector<std::uint32_t>> inputs_by_name_;
    std::vector<State> state_;
    std::vector<std::size_t> place_;  ///< by definition: index into metrics_
    Formulas formulas_;
};

Result<Formulas> Formulas::compile(const std::vector<MetricDefinition>& definitions,
                                   const std::vector<std::size_t>& wanted) {
    if (!wanted.empty()) return FormulasCompiler(definitions).compile(wanted);
    std::vector<std::size_t> all(definitions.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return FormulasCompiler(definitions).compile(all);
}

std::vector<MetricValue> Formulas::evaluate(const Counts& counts, const Constants& constants) const {
    return Evaluation(*this, counts, constants).values();
}

std::vector<std::vector<std::string>> Formulas::events_per_metric(const Constants& constants) const {
    const Evaluation evaluation(*this, Counts{}, constants);
    std::vector<std::vector<Binding>> leaves(metrics_.size());
    for (std::size_t i = 0; i < metrics_.size(); ++i) leaves[i] = evaluation.live_leaves(metrics_[i].value);
    std::vector<std::vector<std::string>> all;
    for (std::size_t metric = 0; metric < wanted_.size(); ++metric) {
        std::vector<bool> needed(metrics_.size(), false);
        needed[wanted_[metric]] = true;
        for (const auto& limit : {limits_[metric].low, limits_[metric].high})
            if (limit) needed[*limit] = true;
        // Backwards: a metric comes after all that it names.
        for (std::size_t i = metrics_.size(); i-- > 0;)
            for (const Binding& leaf : leaves[i])
                if (needed[i] && leaf.kind == Binding::Kind::metric) needed[leaf.index] = true;
        std::vector<std::string> events;
        for (std::size_t i = 0; i < metrics_.size(); ++i)
            for (const Binding& leaf : leaves[i])
                if (needed[i] && leaf.kind == Binding::Kind::input &&
                    std::ranges::find(events, inputs_[leaf.index].name) == events.end())
                    events.push_back(inputs_[leaf.index].name);
        all.push_back(std::move(events));
    }
    return all;
}

std::vector<std::string> Formulas::events_needed(const Constants& constants) const {
    std::unordered_set<std::string> listed;
    std::vector<std::string> events;
    for (auto& of_metric : events_per_metric(constants))
        for (std::string& event : of_metric)
            if (listed.insert(event).second) events.push_back(std::move(event));
    return events;
}

}  // namespace tmaprobe::metrics
