#include "model/window_follower.h"

#include <utility>

namespace tmaprobe::model {

Result<> WindowFollower::follow(std::uint64_t count, std::vector<trace::Step>& steps, std::vector<EventBits>* events) {
    const std::size_t before = steps.size();
    TRY(run_.follow(count, steps));
    const auto instructions = run_.instructions();
    counter_.note_to(events);
    for (std::size_t i = before; i < steps.size(); ++i) {
        counter_.execute((*instructions)[steps[i].instruction], steps[i], goes_on_);
        goes_on_ = true;
    }
    counter_.note_to(nullptr);
    return {};
}

Result<> WindowFollower::go_to(std::uint64_t position) {
    if (!follows_all_) {
        goes_on_ &= run_.executed() >= position;
        return run_.go_to(position);
    }
    TRY(run_.watch(position, counter_));
    return {};
}

Result<> WindowFollower::go_to_end() {
    if (follows_all_) TRY(go_to(~std::uint64_t{0}));
    return {};
}

Result<ExecutedStretch> WindowFollower::window(std::size_t warmed, std::size_t simulated) {
    ExecutedStretch stretch;
    stretch.writable_bytes = run_.writable_bytes();
    // Positions are met late: what follows has its length all the same.
    TRY(follow(warmed, stretch.warm_up, nullptr));
    TRY(follow(simulated, stretch.window, &stretch.events));
    finish(stretch);
    take();
    return stretch;
}

void WindowFollower::finish(ExecutedStretch& stretch) {
    stretch.instructions = run_.instructions();
    rare_.met(*stretch.instructions, stretch.window);
}

Result<std::optional<ExecutedStretch>> WindowFollower::await(std::vector<std::uint64_t> addresses,
                                                             std::uint64_t position, std::size_t simulated) {
    const bool met = follows_all_ ? TRY(run_.watch(position, counter_, std::move(addresses)))
                                  : TRY(run_.go_to_code(std::move(addresses), position));
    goes_on_ = follows_all_;
    if (!met) return std::optional<ExecutedStretch>();
    ExecutedStretch stretch;
    stretch.awaited = true;
    stretch.writable_bytes = run_.writable_bytes();
    if (follows_all_) {
        TRY(follow(simulated, stretch.window, &stretch.events));
    } else {
        // Where it was awaited is no place by chance: what happens there is not counted.
        TRY(run_.follow(simulated, stretch.window));
        stretch.events.resize(stretch.window.size());
    }
    finish(stretch);
    return std::optional(std::move(stretch));
}

void WindowFollower::take() {
    const auto instructions = run_.instructions();
    std::vector<FollowedCode> stretch;
    for (const EventCounter::Counted& one : counter_.take()) {
        const std::uint64_t address = (*instructions)[one.instruction].address;
        SampledCode& all = counted_.all[address];
        all.executions += one.executions;
        for (std::size_t i = 0; i < dear_events; ++i) all.events[i] += one.events[i];
        if (!follows_all_) stretch.push_back({address, one.executions, one.events});
    }
    if (!follows_all_) stretches_->push_back(std::move(stretch));
}

CountedEvents WindowFollower::counted(const std::map<std::uint64_t, double>& executions) {
    if (!follows_all_) {
        counted_.stretches = stretches_;
        return std::move(counted_);
    }
    take();
    // Between windows events alone are counted. What had none is counted, too.
    for (const auto& [address, count] : executions) counted_.all[address].executions = count;
    return std::move(counted_);
}

}  // namespace tmaprobe::model
