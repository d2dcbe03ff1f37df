#include "kernels/stream/stream.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "machine/features.h"
#include "machine/host.h"

namespace tmaprobe::kernels::stream {
namespace {

struct Finder {
    const char* variant;
    Pass (*find)(Operation, Hint);
};
constexpr Finder finders[] = {
    {"avx512", find_avx512}, {"avx2", find_avx2}, {"sse2", find_sse2}, {"neon", find_neon}, {"scalar", find_scalar}};

bool runs_here(const std::string& variant) {
    machine::Host host;
    host.features = machine::instruction_set_features();
    return choose_variant(**find("stream"), variant, host).has_value();
}

constexpr Operation all_operations[] = {Operation::read,    Operation::write, Operation::nt_write, Operation::copy,
                                        Operation::nt_copy, Operation::triad, Operation::nt_triad};
constexpr Hint all_hints[] = {Hint::none, Hint::t0, Hint::t1, Hint::t2, Hint::nta, Hint::w};

/// Three arrays with known content and a guard on both sides of each.
struct Arrays {
    static constexpr std::size_t count = 4 * chunk_bytes / sizeof(double), guard = 8;
    alignas(64) double a[count + 2 * guard], b[count + 2 * guard], c[count + 2 * guard];
    Arrays() {
        for (std::size_t i = 0; i < count + 2 * guard; ++i) a[i] = -1, b[i] = double(i), c[i] = double(7 * i + 1);
    }
    Share share() {
        const auto bytes = [](double* at) { return reinterpret_cast<std::byte*>(at + guard); };
        return {bytes(a), bytes(b), bytes(c), count * sizeof(double), 512};
    }
};

double expected(Operation operation, const Arrays& arrays, std::size_t i) {
    switch (operation) {
        case Operation::read:
            return -1;
        case Operation::write:
        case Operation::nt_write:
            return 3;
        case Operation::copy:
        case Operation::nt_copy:
            return arrays.b[i];
        default:
            return arrays.b[i] + 3 * arrays.c[i];
    }
}

Result<std::unique_ptr<Kernel>> make(std::uint64_t size, std::map<std::string, std::string> options = {},
                                     std::vector<int> cpus = {}) {
    Parameters parameters;
    parameters.size_bytes = size;
    parameters.options = std::move(options);
    parameters.cpus = std::move(cpus);
    machine::Host host;  // of no particular features: the variant for any CPU
    return descriptor().make(choose_variant(**find("stream"), "", host)->name, parameters);
}

/// CPUs that this process may run on.
std::vector<int> allowed_cpus() {
    cpu_set_t set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

}  // namespace

TEST(StreamPasses, DoWhatTheySayInEveryVariantWithEveryHintAndNothingBeside) {
    int run = 0;
    for (const Finder& finder : finders) {
        if (!runs_here(finder.variant)) continue;
        for (const Operation operation : all_operations)
            for (const Hint hint : all_hints) {
                const Pass pass = finder.find(operation, hint);
                if (!pass) continue;
                Arrays arrays;
                pass(arrays.share(), 2);
                for (std::size_t i = 0; i < Arrays::count + 2 * Arrays::guard; ++i) {
                    const bool inside = i >= Arrays::guard && i < Arrays::count + Arrays::guard;
                    ASSERT_EQ(arrays.a[i], inside ? expected(operation, arrays, i) : -1)
                        << finder.variant << " operation " << int(operation) << " hint " << int(hint) << " at " << i;
                }
                ++run;
            }
    }
    EXPECT_GE(run, 2 * 6 * 4) << "at least a vector variant and the scalar one must have run";
}

TEST(StreamPasses, NoTurnsTouchNothing) {
    Arrays arrays;
    find_scalar(Operation::write, Hint::none)(arrays.share(), 0);
    EXPECT_EQ(arrays.a[Arrays::guard], -1);
}

TEST(StreamKernel, CountsBytesAsTheProgramAndAsTheBusSeeThem) {
    const struct {
        const char* operation;
        double arrays, program, bus;
    } cases[] = {{"read", 1, 1, 1},   {"write", 1, 1, 2}, {"ntwrite", 1, 1, 1}, {"copy", 2, 2, 3},
                 {"ntcopy", 2, 2, 2}, {"triad", 3, 3, 4}, {"nttriad", 3, 3, 3}};
    constexpr double size = 3 << 20;
    for (const auto& one : cases) {
        auto kernel = make(3 << 20, {{"op", one.operation}});
        ASSERT_TRUE(kernel) << kernel.error().what;
        const Work work = (*kernel)->per_iteration();
        const double length = size / one.arrays;
        EXPECT_EQ(work.bytes, one.program * length) << one.operation;
        EXPECT_EQ(work.bus_bytes, one.bus * length) << one.operation;
        EXPECT_EQ(work.operations, length / 64) << one.operation;
        (*kernel)->run(2);
    }
}

TEST(StreamKernel, SharesTheBlockAmongThreads) {
    const std::vector<int> cpus = allowed_cpus();
    const std::vector<int> two{cpus.front(), cpus.back()};  // the same CPU twice where there is only one
    auto kernel = make(1 << 20, {{"op", "triad"}}, two);
    ASSERT_TRUE(kernel) << kernel.error().what;
    EXPECT_EQ((*kernel)->threads().size(), 1U);
    EXPECT_EQ((*kernel)->parameters().at("threads"), "2");
    for (int i = 0; i < 20; ++i) (*kernel)->run(3);
    std::uint64_t obtained = 0;
    for (const auto& [page, bytes] : (*kernel)->obtained_pages()) obtained += bytes;
    EXPECT_GE(obtained, 1U << 19);
}

TEST(StreamKernel, RefusesBadSizesOptionsAndCpus) {
    const struct {
        std::uint64_t size;
        std::map<std::string, std::string> options;
        std::vector<int> cpus;
    } cases[] = {
        {100, {}, {}},
        {64, {}, {}},
        {512, {{"op", "triad"}}, {}},
        {1 << 20, {{"op", "reed"}}, {}},
        {1 << 20, {{"hint", "t9"}}, {}},
        {1 << 20, {{"distance", "far"}}, {}},
        {1 << 20, {{"op", "ntwrite"}, {"hint", "t0"}}, {}},
        {1 << 20, {}, {allowed_cpus().front(), 900'000}},
    };
    for (const auto& wrong : cases) {
        const auto kernel = make(wrong.size, wrong.options, wrong.cpus);
        ASSERT_FALSE(kernel) << wrong.size;
        EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage) << kernel.error().what;
        EXPECT_FALSE(kernel.error().hint.empty()) << kernel.error().what;
    }
}

}  // namespace tmaprobe::kernels::stream
