#include "kernels/atomic/atomic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/homes.h"
#include "kernels/team.h"

namespace tmaprobe::kernels::atomic {
namespace {

using Counter = std::uint64_t;
using Increment = void (*)(Counter* counter, std::uint64_t iterations);

inline __attribute__((always_inline)) void add_locked(Counter* counter) {
#if defined(__x86_64__)
    asm volatile("lock incq %0" : "+m"(*counter)::"cc");
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

inline __attribute__((always_inline)) void add_plainly(Counter* counter) {
#if defined(__x86_64__)
    asm volatile("incq %0" : "+m"(*counter)::"cc");
#else
    *static_cast<volatile Counter*>(counter) = *static_cast<volatile Counter*>(counter) + 1;
#endif
}

void increment_locked(Counter* counter, std::uint64_t iterations) {
    for (; iterations; --iterations) {
#pragma GCC unroll 16
        for (int i = 0; i < increments_per_iteration; ++i) add_locked(counter);
    }
}

void increment_plainly(Counter* counter, std::uint64_t iterations) {
    for (; iterations; --iterations) {
#pragma GCC unroll 16
        for (int i = 0; i < increments_per_iteration; ++i) add_plainly(counter);
    }
}

class AtomicKernel final : public Kernel {
  public:
    AtomicKernel(std::unique_ptr<Team> team, Homes homes, std::map<std::string, std::string> parameters)
        : team_(std::move(team)), homes_(std::move(homes)), parameters_(std::move(parameters)) {
        increment_ = parameters_["op"] == "inc" ? increment_plainly : increment_locked;
    }

    void run(std::uint64_t iterations) override {
        team_->run([&](std::size_t member) {
            increment_(counter(0, member), iterations - iterations / 2);
            increment_(counter(1, member), iterations / 2);
        });
    }

    Work per_iteration() const override {
        Work work;
        work.operations = increments_per_iteration;
        work.loads = work.stores = increments_per_iteration * static_cast<double>(team_->size());
        return work;
    }

    std::vector<pid_t> threads() const override { return team_->thread_ids(); }
    std::map<std::string, std::string> parameters() const override { return parameters_; }

  private:
    Counter* counter(std::size_t home, std::size_t member) const {
        const std::string& sharing = parameters_.at("sharing");
        // Two lines each when padded: some cores fetch lines in pairs.
        std::byte* const place = sharing == "padded"  ? homes_.line(home, 2 * member)
                                 : sharing == "false" ? homes_.line(home, 0) + member * sizeof(Counter)
                                                      : homes_.line(home, 0);
        return reinterpret_cast<Counter*>(place);
    }

    std::unique_ptr<Team> team_;
    Homes homes_;
    Increment increment_ = increment_locked;
    std::map<std::string, std::string> parameters_;
};

/// How many threads the places for their counters allow.
std::size_t most_threads(const std::string& sharing) {
    if (sharing == "false") return Homes::line_bytes / sizeof(Counter);
    return sharing == "padded" ? Homes::lines / 2 : 1024;
}

Result<std::unique_ptr<Kernel>> make(const std::string&, const Parameters& parameters) {
    static const Descriptor facts = descriptor();
    if (auto fine = check_parameters(facts, parameters); !fine) return pass_on(fine);
    if (auto distinct = check_distinct(parameters.cpus); !distinct) return pass_on(distinct);
    auto options = *complete_options(facts, parameters.options);
    const std::size_t most = most_threads(options["sharing"]);
    if (parameters.cpus.size() > most)
        return fail(ErrorCode::bad_usage, fmt::format("sharing={} has room for {} threads", options["sharing"], most),
                    "use fewer --threads");
    auto team = Team::start(parameters.cpus);
    if (!team) return pass_on(team);
    auto homes = Homes::make(**team, parameters.numa_node);
    if (!homes) return pass_on(homes);
    options["threads"] = std::to_string((*team)->size());
    return std::make_unique<AtomicKernel>(std::move(*team), std::move(*homes), std::move(options));
}

}  // namespace

Descriptor descriptor() {
    Descriptor kernel;
    kernel.name = "atomic";
    kernel.what = "a counter in memory incremented by one thread or several";
    kernel.operation = "increment by every thread";
    kernel.bottleneck = "backend: the locked instruction, or cache coherency with several threads";
    kernel.variants = {{"scalar", "one increment instruction per step", {}, true}};
    kernel.options = {
        {"op", "lockinc: with the lock prefix (Arm: an atomic add); inc: without, in memory all the same", "lockinc",
         {"lockinc", "inc"}},
        {"sharing", "one: all threads one variable; false: variables of their own in one line; padded: in lines of "
                    "their own", "one", {"one", "false", "padded"}},
    };
    kernel.max_threads = 0;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::atomic
