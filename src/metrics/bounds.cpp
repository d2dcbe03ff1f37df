#include <algorithm>

#include "metrics/evaluation.h"

namespace tmaprobe::metrics {
namespace {

/// Which metrics and which uncertain inputs a metric depends on, itself included.
struct Dependencies {
    std::vector<bool> metrics, inputs;
};

void add_all(std::vector<bool>& to, const std::vector<bool>& from) {
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i]) to[i] = true;
}

}  // namespace

std::vector<Evaluation::Bounds> Evaluation::bounds(const std::vector<std::size_t>& wanted_metrics) {
    const std::vector<EvaluatedValue> nominal = results_;
    std::vector<Bounds> bounds;
    for (const std::size_t index : wanted_metrics) bounds.push_back({nominal[index].value, nominal[index].value, true});
    if (uncertain_.empty()) return bounds;

    std::vector<std::size_t> uncertain_place(inputs_.size(), uncertain_.size());
    for (std::size_t i = 0; i < uncertain_.size(); ++i) uncertain_place[uncertain_[i].input] = i;
    std::vector<Dependencies> depends(nominal.size());
    for (std::size_t m = 0; m < nominal.size(); ++m) {
        depends[m] = {std::vector<bool>(nominal.size()), std::vector<bool>(uncertain_.size())};
        depends[m].metrics[m] = true;
        for (const auto& binding : formulas_.metrics_[m].value.bindings) {
            if (binding.kind == Formulas::Binding::Kind::metric) {
                add_all(depends[m].metrics, depends[binding.index].metrics);
                add_all(depends[m].inputs, depends[binding.index].inputs);
            } else if (binding.kind == Formulas::Binding::Kind::input &&
                       uncertain_place[binding.index] < uncertain_.size()) {
                depends[m].inputs[uncertain_place[binding.index]] = true;
            }
        }
    }

    const auto widen = [&](std::size_t wanted) {
        const EvaluatedValue& moved = results_[wanted_metrics[wanted]];
        if (!moved.known()) {
            bounds[wanted].known = false;
            return;
        }
        bounds[wanted].low = std::min(bounds[wanted].low, moved.value);
        bounds[wanted].high = std::max(bounds[wanted].high, moved.value);
    };

    // One input at a time; rises[w][u] tells whether the metric follows the input upwards.
    std::vector<std::vector<bool>> rises(bounds.size(), std::vector<bool>(uncertain_.size()));
    for (std::size_t u = 0; u < uncertain_.size(); ++u) {
        EvaluatedValue& input = inputs_[uncertain_[u].input];
        const double middle = input.value;
        std::vector<EvaluatedValue> at_low;
        for (const double end : {uncertain_[u].low, uncertain_[u].high}) {
            input.value = end;
            for (std::size_t m = 0; m < nominal.size(); ++m)
                if (depends[m].inputs[u]) results_[m] = compute(formulas_.metrics_[m].value);
            for (std::size_t w = 0; w < bounds.size(); ++w)
                if (depends[wanted_metrics[w]].inputs[u]) widen(w);
            if (end == uncertain_[u].low) at_low = results_;
        }
        for (std::size_t w = 0; w < bounds.size(); ++w)
            rises[w][u] = results_[wanted_metrics[w]].value > at_low[wanted_metrics[w]].value;
        input.value = middle;
        results_ = nominal;
    }

    // All inputs of one metric together, to the ends that lower it and to those that raise it.
    const std::vector<EvaluatedValue> middle = inputs_;
    for (std::size_t w = 0; w < bounds.size(); ++w) {
        const Dependencies& of = depends[wanted_metrics[w]];
        if (std::ranges::count(of.inputs, true) < 2) continue;
        for (const bool raise : {false, true}) {
            for (std::size_t u = 0; u < uncertain_.size(); ++u)
                if (of.inputs[u])
                    inputs_[uncertain_[u].input].value = rises[w][u] == raise ? uncertain_[u].high : uncertain_[u].low;
            for (std::size_t m = 0; m < nominal.size(); ++m)
                if (of.metrics[m]) results_[m] = compute(formulas_.metrics_[m].value);
            widen(w);
        }
        inputs_ = middle;
        results_ = nominal;
    }
    return bounds;
}

}  // namespace tmaprobe::metrics
