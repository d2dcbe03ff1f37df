#include "kernels/pingpong/pingpong.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shared_lines.h"
#include "kernels/team.h"

namespace tmaprobe::kernels::pingpong {
namespace {

using Ball = std::atomic<std::uint64_t>;

/// Takes the ball when it says `mine` and sends it as `theirs`, so many times. The line is asked for with
/// the intent to write it, over and over: one transfer each way.
void play_by_swapping(Ball& ball, std::uint64_t mine, std::uint64_t theirs, std::uint64_t turns) {
    for (; turns; --turns)
        for (std::uint64_t expected = mine; !ball.compare_exchange_strong(expected, theirs); expected = mine) {
        }
}

/// Waits by reading, then writes: the line is shared first and owned after, about two transfers each way.
void play_by_loading(Ball& ball, std::uint64_t mine, std::uint64_t theirs, std::uint64_t turns) {
    for (; turns; --turns) {
        while (ball.load(std::memory_order_acquire) != mine) {
        }
        ball.store(theirs, std::memory_order_release);
    }
}

struct Protocol {
    const char* name;
    void (*play)(Ball& ball, std::uint64_t mine, std::uint64_t theirs, std::uint64_t turns);
};
constexpr std::array protocols{Protocol{"cas", play_by_swapping}, Protocol{"load", play_by_loading}};

class PingPongKernel final : public Kernel {
  public:
    PingPongKernel(std::unique_ptr<Team> team, SharedLines homes, std::size_t line,
                   std::map<std::string, std::string> parameters)
        : team_(std::move(team)), homes_(std::move(homes)), line_(line), parameters_(std::move(parameters)) {
        play_ = chosen(parameters_, "protocol", protocols).play;
        for (const std::size_t home : {0U, 1U}) new (homes_.line(home, line_)) Ball(0);
    }

    void run(std::uint64_t iterations) override {
        team_->run([&](std::size_t member) {
            const std::uint64_t mine = member, theirs = 1 - member;
            play_(ball(0), mine, theirs, iterations - iterations / 2);
            play_(ball(1), mine, theirs, iterations / 2);
        });
    }

    Work per_iteration() const override {
        Work work;
        work.operations = 2;
        return work;
    }

    std::vector<pid_t> threads() const override { return team_->thread_ids(); }
    std::map<std::string, std::string> parameters() const override { return parameters_; }

  private:
    Ball& ball(std::size_t home) { return *std::launder(reinterpret_cast<Ball*>(homes_.line(home, line_))); }

    std::unique_ptr<Team> team_;
    SharedLines homes_;
    std::size_t line_;
    decltype(Protocol::play) play_ = nullptr;
    std::map<std::string, std::string> parameters_;
};

Result<std::unique_ptr<Kernel>> make(const std::string&, const Parameters& parameters) {
    static const KernelDescriptor facts = descriptor();
    TRY(check_parameters(facts, parameters));
    TRY(check_distinct(parameters.cpus));
    auto options = *complete_options(facts, parameters.options);
    const auto line = TRY(number_option(options, "line", 0, SharedLines::lines - 1));
    const auto cpus = TRY(parameters.cpus.empty() ? first_cpus(2) : Result<std::vector<int>>(parameters.cpus));
    auto team = TRY(Team::start(cpus));
    auto homes = TRY(SharedLines::make(*team, parameters.numa_node));
    options["time"] = "one way";
    return std::make_unique<PingPongKernel>(std::move(team), std::move(homes), line, std::move(options));
}

}  // namespace

KernelDescriptor descriptor() {
    KernelDescriptor kernel;
    kernel.name = "pingpong";
    kernel.what = "a cache line bounced between two CPUs";
    kernel.operation = "one-way transfer";
    kernel.bottleneck = "backend: cache coherency between two cores";
    kernel.variants = {{"scalar", "plain atomic instructions", {}, true}};
    kernel.options = {
        named_option("protocol",
                     "cas: both swap until they succeed, one transfer each way; load: both read until it is "
                     "their turn, then write, about two",
                     protocols),
        {"line", "which line of a 4 KiB page, 0 to 63", "0", {}},
    };
    kernel.min_threads = kernel.max_threads = 2;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::pingpong
