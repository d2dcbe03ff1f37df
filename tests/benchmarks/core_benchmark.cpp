#include <benchmark/benchmark.h>

#include "model/branch_predictor.h"
#include "model/llvm/decoder.h"
#include "model/memory_system.h"
#include "model/modelled_cpu.h"

namespace tmaprobe::model {
namespace {

/// A loop of integer work with a load, a store and a branch that goes either way, as the core is given it.
trace::Trace mixed_trace(trace::Decoder& decoder, std::size_t rounds) {
    const std::vector<std::vector<std::uint8_t>> code = {
        {0x48, 0x0f, 0xaf, 0xc3},        // imul %rbx, %rax
        {0x48, 0x01, 0xc8},              // add %rcx, %rax
        {0x48, 0x89, 0xc2},              // mov %rax, %rdx
        {0x48, 0xc1, 0xea, 0x34},        // shr $52, %rdx
        {0x48, 0x8b, 0x3c, 0xd6},        // mov (%rsi,%rdx,8), %rdi
        {0x48, 0x0f, 0xba, 0xe0, 0x28},  // bt $40, %rax
        {0x73, 0x07},                    // jae, over the next two
        {0x4c, 0x01, 0xc7},              // add %r8, %rdi
        {0x48, 0x89, 0x3c, 0xd6},        // mov %rdi, (%rsi,%rdx,8)
        {0x49, 0xff, 0xc0},              // inc %r8
        {0x4d, 0x39, 0xc8},              // cmp %r9, %r8
        {0x75, 0xd5},                    // jne, to the first
    };
    constexpr std::size_t branch = 6, skipped = 2;
    trace::Trace trace;
    std::uint64_t at = 0x401000, state = 1;
    for (const auto& bytes : code) {
        trace.instructions.push_back(decoder.decode(bytes.data(), bytes.size(), at));
        at += bytes.size();
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t word = 0x10000000 + (state >> 52) * 8;
        const bool taken = state >> 40 & 1;
        for (std::size_t i = 0; i < code.size(); ++i) {
            const trace::StaticInstruction& what = trace.instructions[i];
            trace.steps.push_back({static_cast<std::uint32_t>(i), what.loads ? word : 0, what.stores ? word : 0});
            if (i == branch && taken) i += skipped;
        }
    }
    return trace;
}

/// Simulated instructions per second, with caches and branches; at least 5 million are asked for.
void simulate(benchmark::State& state, const char* target) {
    auto table = events::load({}, target);
    auto geometry =
        table ? model::load_modelled_cpu({}, *table) : Result<model::ModelledCpu>(tl::unexpected<Error>(table.error()));
    if (!geometry) return state.SkipWithError(geometry.error().what.c_str());
    geometry->core.architecture = "x86_64";
    auto core = core::make_core(geometry->core);
    auto decoder = core::make_decoder("x86_64");
    if (!core || !decoder) return state.SkipWithError("no core model");
    const trace::Trace trace = mixed_trace(**decoder, 100000);
    for (auto _ : state) {
        model::MemorySystem memory(*geometry, [](std::uint64_t) { return std::uint64_t{4096}; }, {});
        model::BranchPredictor branches(geometry->core);
        memory.begin_window();
        auto simulated = (*core)->simulate(trace, {0, trace.steps.size(), 0, {}, nullptr}, memory, branches);
        if (!simulated) return state.SkipWithError(simulated.error().what.c_str());
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * trace.steps.size()));
}

BENCHMARK_CAPTURE(simulate, zen4, "amdzen4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, cascade_lake, "cascadelakex")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, sapphire_rapids, "sapphirerapids")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tmaprobe::model
