#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "model/llvm/decoder.h"
#include "tests/trace/copied_program.h"
#include "trace/copy_calls.h"
#include "trace/tracer.h"

namespace tmaprobe::trace {

/// Executes the copy until it ends or has done so much.
inline std::optional<EndedBy> run_copy(Snapshot snapshot, std::size_t instructions) {
    CopyCalls calls(snapshot);
    auto decoder = model::core::make_decoder("x86_64");
    auto process = TracedProcess::of_copy(snapshot.release());
    Tracer tracer(process, **decoder, false);
    tracer.on_system_call = [&](TracedProcess& copy, Registers& registers) {
        return static_cast<Tracer::CallAnswer>(calls(copy, registers));
    };
    Trace trace;
    if (const auto begin = snapshot.time_stamp)
        tracer.time_stamp = [&trace, begin] { return *begin + trace.steps.size(); };
    const auto traced = tracer.trace(instructions, trace);
    return traced && traced->ended ? calls.ended() : std::nullopt;
}

/// What ends a copy of a program that is about to do something. `meanwhile` is done to the program before it is copied.
inline std::optional<EndedBy> ending_of(
    const std::function<void()>& act, const std::function<void()>& meanwhile = [] {}) {
    Program program([&](Board& board) {
        board.ready = 1;
        volatile int* const go_on = reinterpret_cast<volatile int*>(&board.go_on);
        while (*go_on) {
        }
        act();
        return 0;
    });
    meanwhile();
    auto attempt = copy_of(program.pid());
    if (!attempt.snapshot) return std::nullopt;
    // In the copy's own memory, which the board is part of now.
    const Fd memory(::open(("/proc/" + std::to_string(attempt.snapshot->copy()) + "/mem").c_str(), O_RDWR));
    const int zero = 0;
    if (::pwrite(memory.get(), &zero, sizeof zero, reinterpret_cast<off_t>(&program.board().go_on)) != sizeof zero)
        return std::nullopt;
    return run_copy(std::move(*attempt.snapshot), 200000);
}

inline void fail_unless(bool as_expected) {
    if (!as_expected) ::kill(::getpid(), SIGURG);  // which ends a window as no test expects
}

}  // namespace tmaprobe::trace
