#include "trace/allocation_watch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <set>

#include "process/mappings.h"
#include "tests/trace/fixture.h"

namespace tmaprobe::trace {
namespace {

TEST(AllocationWatch, KnowsAllocatorsByTheirNames) {
    EXPECT_EQ(allocator_call("malloc"), AllocatorCall::bytes);
    EXPECT_EQ(allocator_call("je_calloc"), AllocatorCall::count_and_bytes);
    EXPECT_EQ(allocator_call("_ZnwmSt11align_val_t"), AllocatorCall::bytes);
    EXPECT_EQ(allocator_call("PyObject_Free"), AllocatorCall::release);
    EXPECT_EQ(allocator_call("mallocs"), AllocatorCall::none);
    EXPECT_EQ(allocator_call(""), AllocatorCall::none);
}

#if defined(__x86_64__)

/// Of a process that was forked from this one: what lies where is the same.
std::vector<AllocatorFunction> functions_here(const std::string& file) {
    std::vector<AllocatorFunction> functions;
    const auto mappings = process::code_mappings_of(::getpid());
    for (const char* name : {"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign", "free",
                             "mmap", "munmap", "_Znam", "_ZdaPv"}) {
        const auto address = reinterpret_cast<std::uint64_t>(::dlsym(RTLD_DEFAULT, name));
        const auto* mapping = process::mapping_at(mappings, address);
        if (mapping && mapping->path == file)
            functions.push_back({address - mapping->begin + mapping->offset, allocator_call(name)});
    }
    return functions;
}

/// Follows a child whose function writes what it was given to `to`.
void watch(void (*body)(void** to), const std::function<void(AllocationWatch&, void* const* told)>& check) {
    Child child;
    auto process = TracedProcess::fork_function([&] { body(reinterpret_cast<void**>(child.result)); });
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(process && decoder);
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    AllocationWatch watch(*process, functions_here);
    translator.tell(watch);
    for (bool ended = false; !ended;) {
        // In small steps: whatever is executed in place at their ends counts, too.
        const auto traced = translator.steps(997, nullptr);
        ASSERT_TRUE(traced);
        ended = traced->ended || traced->ended_early != EndedEarly::none;
    }
    if (!translator.translates()) GTEST_SKIP() << "no code can be translated here";
    check(watch, reinterpret_cast<void* const*>(child.result));
}

std::uint64_t at(const void* block) { return reinterpret_cast<std::uint64_t>(block); }

/// Blocks are given up where they are not told.
__attribute__((noinline)) void allocate(void** told) {
    told[0] = std::malloc(100);
    told[1] = std::calloc(10, 10000);
    told[2] = std::realloc(std::malloc(50), 200000);
    told[4] = std::aligned_alloc(4096, 8192);
    if (::posix_memalign(&told[5], 64, 640) != 0) told[5] = nullptr;
    told[6] = new char[300];
    told[7] = ::reallocarray(nullptr, 7, 1000);
    told[8] = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* const unmapped = told[9] = ::mmap(nullptr, 3 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(unmapped, 3 << 20);
    told[3] = std::malloc(77777);  // the last: nothing else may lie there afterwards
    std::free(told[3]);
}

TEST(AllocationWatch, KnowsWhichCallsAllocatedWhatLiesWhere) {
    watch(allocate, [](AllocationWatch& watch, void* const* told) {
        const std::uint64_t sizes[] = {112, 100000, 200000, 0, 8192, 640, 304, 7000, 1 << 20, 0};
        std::set<std::uint64_t> call_sites;
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            ASSERT_TRUE(told[i]) << i;
            const std::uint32_t owner = watch.blocks().owner_at(at(told[i]));
            if (!sizes[i]) {
                EXPECT_EQ(owner, 0u) << i;
                continue;
            }
            ASSERT_NE(owner, 0u) << i;
            EXPECT_EQ(watch.blocks().sum_of(owner).bytes, sizes[i]) << i;
            EXPECT_EQ(watch.blocks().owner_at(at(told[i]) + sizes[i] - 16), owner) << i;
            const std::uint64_t site = watch.paths()[owner].site;
            EXPECT_GT(site, at(reinterpret_cast<const void*>(allocate))) << i;
            EXPECT_LT(site, at(reinterpret_cast<const void*>(allocate)) + 4096) << i;
            call_sites.insert(site);
        }
        EXPECT_EQ(call_sites.size(), 8u);
    });
}

__attribute__((noinline)) void* nested(int depth, void** told) {
    if (depth > 0) return nested(depth - 1, told + 1);
    for (int i = 0; i < 100; ++i) told[i % 2] = std::malloc(48);
    return told[0];
}

TEST(AllocationWatch, CountsTheBlocksOfOnePathTogether) {
    watch([](void** told) { told[0] = nested(5, told + 1); },
          [](AllocationWatch& watch, void* const* told) {
              const std::uint32_t owner = watch.blocks().owner_at(at(told[0]));
              ASSERT_NE(owner, 0u);
              EXPECT_EQ(watch.blocks().sum_of(owner).blocks, 100u);
              EXPECT_EQ(watch.blocks().sum_of(owner).bytes, 4800u);
              EXPECT_GE(watch.allocations(), 100u);
          });
}

#endif

}  // namespace
}  // namespace tmaprobe::trace
