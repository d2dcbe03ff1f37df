#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "counters/source.h"

namespace tmaprobe::counters {

/// A command; without words, what only waits.
struct Command final : Workload {
    explicit Command(std::vector<std::string> words) : argv(std::move(words)) {}
    std::vector<std::string> command() const override { return argv; }
    void run(std::uint64_t) override {}
    bool only_waits() const override { return argv.empty(); }
    std::vector<std::string> argv;
};

}  // namespace tmaprobe::counters
