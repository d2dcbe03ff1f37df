#pragma once

// What the tests of tracing share: a child that runs a function and reports through shared memory, natively, step by
// step, or translated.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>

#include "model/llvm/decoder.h"
#include "trace/translator.h"

namespace tmaprobe::trace {

/// A page that a child reports through.
struct Child {
    std::uint64_t* result =
        static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ~Child() { ::munmap(result, 4096); }
};

enum class Way { stepped, translated };

struct Followed {
    std::uint64_t result = 0;  ///< what the function returned, in the child
    int exit_status = -1;
    std::size_t steps = 0;
    EndedEarly ended_early = EndedEarly::none;
    bool code_changed = false, translates = false;
};

/// Runs `body` in a traced child and follows it to its end, or until the window ends early.
inline Followed follow(const std::function<std::uint64_t()>& body, Way way = Way::translated,
                       const OnStep& on_step = nullptr) {
    Followed followed;
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = body(); });
    auto decoder = model::core::make_decoder("x86_64");
    if (!process || !decoder) {
        ADD_FAILURE() << "no child to trace";
        return followed;
    }
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    const auto count = [&](const StaticInstruction& instruction, const Step& step) {
        if (on_step) on_step(instruction, step);
    };
    constexpr std::size_t at_once = 200'000;
    for (bool ended = false; !ended && followed.ended_early == EndedEarly::none;) {
        Trace trace;
        auto traced = way == Way::translated ? translator.steps(at_once, count) : tracer.trace(at_once, trace);
        if (!traced) {
            ADD_FAILURE() << traced.error().what;
            break;
        }
        for (const Step& step : trace.steps) count(trace.instructions[step.instruction], step);
        followed.steps += traced->steps;
        followed.ended_early = traced->ended_early;
        followed.code_changed |= traced->code_changed;
        ended = traced->ended;
    }
    followed.translates = translator.translates();
    const auto finished = process->finish();
    EXPECT_TRUE(finished.has_value());
    followed.exit_status = process->exit_status().value_or(-1);
    followed.result = *child.result;
    return followed;
}

}  // namespace tmaprobe::trace
