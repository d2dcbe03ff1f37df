#include "kernels/atomic/atomic.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shared_lines.h"
#include "kernels/team.h"

namespace tmaprobe::kernels::atomic {
namespace {

using Counter = std::uint64_t;
using Increment = void (*)(Counter* counter, std::uint64_t iterations);

/// In the instruction itself on x86. On Arm the compiler's own would be a call that looks for the CPU's instructions
/// each time; this is the pair of loads and stores that every Arm has.
inline __attribute__((always_inline)) void add_locked(Counter* counter) {
#if defined(__x86_64__)
    asm volatile("lock incq %0" : "+m"(*counter)::"cc");
#elif defined(__aarch64__)
    Counter value;
    int failed;
    asm volatile("1: ldxr %0, %2\n add %0, %0, #1\n stxr %w1, %0, %2\n cbnz %w1, 1b"
                 : "=&r"(value), "=&r"(failed), "+Q"(*counter));
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

/// The one instruction of Armv8.1.
inline __attribute__((always_inline)) void add_by_one_instruction(Counter* counter) {
#if defined(__aarch64__)
    Counter before;
    asm volatile(".arch_extension lse\n ldadd %2, %0, %1" : "=&r"(before), "+Q"(*counter) : "r"(Counter{1}));
#else
    add_locked(counter);
#endif
}

inline __attribute__((always_inline)) void add_plainly(Counter* counter) {
#if defined(__x86_64__)
    asm volatile("incq %0" : "+m"(*counter)::"cc");
#else
    *static_cast<volatile Counter*>(counter) = *static_cast<volatile Counter*>(counter) + 1;
#endif
}

template <void (*add)(Counter*)>
void increment(Counter* counter, std::uint64_t iterations) {
    for (; iterations; --iterations) {
#pragma GCC unroll 16
        for (int i = 0; i < increments_per_iteration; ++i) add(counter);
    }
}

struct NamedIncrement {
    const char* name;
    Increment increment, with_one_instruction;  ///< the second in variant lse
};
constexpr std::array increments{NamedIncrement{"lockinc", increment<add_locked>, increment<add_by_one_instruction>},
                                NamedIncrement{"inc", increment<add_plainly>, increment<add_plainly>}};
constexpr const char* one_instruction = "lse";

/// Where the members' counters lie, `apart` bytes from one to the next, and for how many there is room. Padded ones are
/// two lines apart: some cores fetch lines in pairs.
struct Sharing {
    const char* name;
    std::size_t apart, most_threads;
};
constexpr std::array sharings{Sharing{"one", 0, 1024},
                              Sharing{"false", sizeof(Counter), SharedLines::line_bytes / sizeof(Counter)},
                              Sharing{"padded", 2 * SharedLines::line_bytes, SharedLines::lines / 2}};

class AtomicKernel final : public Kernel {
  public:
    AtomicKernel(const std::string& variant, std::unique_ptr<Team> team, SharedLines homes,
                 std::map<std::string, std::string> parameters)
        : team_(std::move(team)), homes_(std::move(homes)), parameters_(std::move(parameters)) {
        const NamedIncrement& named = chosen(parameters_, "op", increments);
        increment_ = variant == one_instruction ? named.with_one_instruction : named.increment;
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
    SharedLines homes_;
    Increment increment_ = nullptr;
    std::size_t apart_ = 0;
    std::map<std::string, std::string> parameters_;
};

Result<std::unique_ptr<Kernel>> make(const std::string& variant, const Parameters& parameters) {
    static const KernelDescriptor facts = descriptor();
    TRY(check_parameters(facts, parameters));
    TRY(check_distinct(parameters.cpus));
    auto options = *complete_options(facts, parameters.options);
    const std::size_t most = chosen(options, "sharing", sharings).most_threads;
    if (parameters.cpus.size() > most)
        return fail(ErrorCode::bad_usage, fmt::format("sharing={} has room for {} threads", options["sharing"], most),
                    "use fewer --threads");
    auto team = TRY(Team::start(parameters.cpus));
    auto homes = TRY(SharedLines::make(*team, parameters.numa_node));
    options["threads"] = std::to_string(team->size());
    return std::make_unique<AtomicKernel>(variant, std::move(team), std::move(homes), std::move(options));
}

}  // namespace

KernelDescriptor descriptor() {
    KernelDescriptor kernel;
    kernel.name = "atomic";
    kernel.what = "a counter in memory incremented by one thread or several";
    kernel.operation = "increment by every thread";
    kernel.bottleneck = "backend: the locked instruction, or cache coherency with several threads";
#if defined(__aarch64__)
    constexpr bool arm = true;
#else
    constexpr bool arm = false;
#endif
    kernel.variants = {{one_instruction, "one atomic instruction of Armv8.1 per step", {"atomics"}, arm},
                       {"scalar", "one increment per step, as every CPU does it", {}, true}};
    kernel.options = {
        named_option("op", "lockinc: with the lock prefix (Arm: an atomic add); inc: without, in memory all the same",
                     increments),
        named_option("sharing",
                     "one: all threads one variable; false: variables of their own in one line; padded: in lines "
                     "of their own",
                     sharings),
    };
    kernel.max_threads = 0;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::atomic
