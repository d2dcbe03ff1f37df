// Simulates what was traced of copies: here, or beside.
#include <algorithm>
#include <string>
#include <utility>

#include "model/copy_windows.h"

namespace tmaprobe::model {

/// In a fork, if one may run, and else here.
Result<WindowFacts> CopyWindows::simulate(const trace::Trace& window, const CallFollower& calls, bool varied) {
    if (window.steps.size() < shortest_window) return WindowFacts{};
    const auto number = beside_.begin([&]() -> Result<WindowBeside> {
        const std::size_t before = simulator_.simulated_instructions();
        const double ns_before = simulator_.simulating_ns();
        auto facts = TRY(simulate_here(window, calls, varied));
        return WindowBeside{std::move(facts), simulator_.simulated_instructions() - before,
                            simulator_.simulating_ns() - ns_before};
    });
    if (!number) return simulate_here(window, calls, varied);
    TRY(simulator_.pass_over(window));
    WindowFacts awaited;
    awaited.beside = {*number};
    return awaited;
}

void CopyWindows::complete(std::vector<WindowFacts>& moments) {
    for (WindowFacts& moment : moments) {
        for (const std::uint32_t number : std::exchange(moment.beside, {})) {
            auto window = beside_.take(number);
            if (!window) {
                found_.error = window.error().what;
                ++found_.sampling.ended_early[std::string(name_of(trace::EndedBy::error))];
                continue;
            }
            found_.simulated += window->simulated_instructions;
            found_.simulating_ns += window->simulating_ns;
            merge(moment, window->facts);
        }
    }
    std::erase_if(moments, is_nothing);
}

Result<WindowFacts> CopyWindows::simulate_here(const trace::Trace& window, const CallFollower& calls, bool varied) {
    simulator_.calls_before(calls);
    simulator_.vary_windows(varied);
    auto facts = TRY(simulator_.simulate(window));
    // A short life is one of many alike: the caches know it from the last time, or, at the other bound, know no
    // more than what was seen of the process so far.
    if (hardly_warm_) {
        FactVariation cold{record::Variation::caches_not_warmed, std::move(facts.base), std::move(facts.slots),
                           std::move(facts.accesses), std::move(facts.regions)};
        simulator_.calls_before(calls);
        facts = TRY(simulator_.simulate(window));
        facts.variations.push_back(std::move(cold));
    }
    return facts;
}

Result<WindowFacts> CopyWindows::simulate_moment(std::vector<WindowOfMoment>& windows, std::size_t done,
                                                 const trace::Translator& translator) {
    found_.warmed += done;
    if (options_.attribute) windows.resize(1);
    WindowFacts facts;
    bool varied = is_varied();
    for (WindowOfMoment& window : windows) {
        Steps steps(window.steps.begin() + static_cast<std::ptrdiff_t>(window.before), window.steps.end());
        found_.steps += steps.size();
        found_.warmed -= steps.size();
        auto more = TRY(simulate(trace_of(std::move(steps), translator),
                                 calls_of(window.steps, window.before, translator), std::exchange(varied, false)));
        more.stack = std::move(window.from);
        is_nothing(facts) ? std::swap(facts, more) : merge(facts, more);
    }
    return facts;
}

trace::Trace CopyWindows::trace_of(Steps steps, const trace::Translator& translator) {
    constexpr std::uint32_t none = ~0u;
    const auto& instructions = translator.instructions();
    std::vector<std::uint32_t> number_here(instructions.size(), none);
    trace::Trace trace{{}, std::move(steps)};
    for (trace::Step& step : trace.steps) {
        std::uint32_t& number = number_here[step.instruction];
        if (number == none) {
            number = static_cast<std::uint32_t>(trace.instructions.size());
            trace.instructions.push_back(instructions[step.instruction]);
        }
        step.instruction = number;
    }
    return trace;
}

/// What the first steps tell of the calls that the others are made in.
CallFollower CopyWindows::calls_of(const Steps& steps, std::size_t before, const trace::Translator& translator) const {
    CallFollower follower;
    if (!options_.attribute) return follower;
    const auto& instructions = translator.instructions();
    for (std::size_t i = 0; i < before && i + 1 < steps.size(); ++i)
        follower.step(instructions[steps[i].instruction], instructions[steps[i + 1].instruction].address);
    return follower;
}

/// Whether a window at its end would be of the code that ran when the sample was taken.
bool CopyWindows::is_like_sampled(const Steps& steps) const {
    constexpr double most_of_it = 0.5;
    const std::size_t window = std::min(options_.window_instructions, steps.size());
    return sampled_->with({steps.end() - static_cast<std::ptrdiff_t>(window), steps.end()}) >= most_of_it;
}

void CopyWindows::follow(const Steps& steps, std::size_t count, const trace::Translator& translator) {
    for (std::size_t i = 0; i < count; ++i)
        simulator_.follow(translator.instructions()[steps[i].instruction], steps[i]);
}

}  // namespace tmaprobe::model
