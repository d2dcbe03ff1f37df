#include "kernels/atomic/atomic.h"

#include <fmt/format.h>

#include <array>
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

struct NamedIncrement {
    const char* name;
    Increment increment;
};
constexpr std::array increments{NamedIncrement{"lockinc", increment_locked}, NamedIncrement{"inc", increment_plainly}};

/// Where the members' counters lie, `apart` bytes from one to the next, and for how many there is room. Padded ones are
/// two lines apart: some cores fetch lines in pairs.
struct Sharing {
    const char* name;
    std::size_t apart, most_threads;
};
constexpr std::array sharings{Sharing{"one", 0, 1024},
                              Sharing{"false", sizeof(Counter), Homes::line_bytes / sizeof(Counter)},
                              Sharing{"padded", 2 * Homes::line_bytes, Homes::lines / 2}};

class AtomicKernel final : public Kernel {
  public:
    AtomicKernel(std::unique_ptr<Team> team, Homes homes, std::map<std::string, std::string> parameters)
        : team_(std::move(team)), homes_(std::move(homes)), parameters_(std::move(parameters)) {
        increment_ = chosen(parameters_, "op", increments).increment;
        apart_ = chosen(parameters_, "sharing", sharings).apart;
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
        return reinterpret_cast<Counter*>(homes_.line(home, 0) + member * apart_);
    }

    std::unique_ptr<Team> team_;
    Homes homes_;
    Increment increment_ = nullptr;
    std::size_t apart_ = 0;
    std::map<std::string, std::string> parameters_;
};

Result<std::unique_ptr<Kernel>> make(const std::string&, const Parameters& parameters) {
    static const Descriptor facts = descriptor();
    if (auto fine = check_parameters(facts, parameters); !fine) return pass_on(fine);
    if (auto distinct = check_distinct(parameters.cpus); !distinct) return pass_on(distinct);
    auto options = *complete_options(facts, parameters.options);
    const std::size_t most = chosen(options, "sharing", sharings).most_threads;
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
        named_option("op", "lockinc: with the lock prefix (Arm: an atomic add); inc: without, in memory all the same", increments),
        named_option("sharing", "one: all threads one variable; false: variables of their own in one line; padded: in lines "
                                "of their own", sharings),
    };
    kernel.max_threads = 0;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::atomic
