#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "tests/trace/fixture.h"
#include "trace/translation_area.h"

// Programs whose code changes, is large, or is not what it looks like: what they compute must be what they compute
// natively, whoever follows them.
namespace tmaprobe::trace {
namespace {

#if defined(__x86_64__)

using Function = std::uint64_t (*)();

constexpr std::size_t page = 4096;

std::uint8_t* map_code(int protection, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1, std::size_t bytes = page) {
    void* const at = ::mmap(nullptr, bytes, protection, flags, fd, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(at);
}

/// mov $value, %eax; ret
void write_function(std::uint8_t* to, std::uint32_t value) {
    to[0] = 0xb8;
    std::memcpy(to + 1, &value, sizeof value);
    to[5] = 0xc3;
}

template <class Pointer>
Function as_function(Pointer code) {
    return reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(code));
}

constexpr std::uint64_t rounds = 60;

/// The sum that a generator of `rounds` functions computes.
constexpr std::uint64_t sum_of_rounds = rounds * (rounds - 1) / 2;

std::uint64_t generate_by_changing_permissions() {
    std::uint8_t* const code = map_code(PROT_READ | PROT_WRITE);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        ::mprotect(code, page, PROT_READ | PROT_WRITE);
        write_function(code, i);
        ::mprotect(code, page, PROT_READ | PROT_EXEC);
        sum += as_function(code)();
    }
    return sum;
}

std::uint64_t generate_through_another_mapping() {
    const int fd = static_cast<int>(::syscall(SYS_memfd_create, "code", 0));
    if (fd < 0 || ::ftruncate(fd, page) != 0) return 0;
    std::uint8_t* const written = map_code(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    std::uint8_t* const executed = map_code(PROT_READ | PROT_EXEC, MAP_SHARED, fd);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        write_function(written, i);
        sum += as_function(executed)();
    }
    return sum;
}

std::uint64_t generate_in_writable_code() {
    std::uint8_t* const code = map_code(PROT_READ | PROT_WRITE | PROT_EXEC);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        write_function(code, i);
        sum += as_function(code)();
    }
    return sum;
}

/// The function changes the instruction that it executes next.
std::uint64_t change_the_next_instruction() {
    std::uint8_t* const code = map_code(PROT_READ | PROT_WRITE | PROT_EXEC);
    const std::uint8_t bytes[] = {0x89, 0x3d, 0x01, 0, 0, 0,  // mov %edi, the next instruction's constant
                                  0xb8, 0,    0,    0, 0,     // mov $constant, %eax
                                  0xc3};
    std::memcpy(code, bytes, sizeof bytes);
    std::uint64_t sum = 0;
    const auto function = reinterpret_cast<std::uint64_t (*)(std::uint32_t)>(reinterpret_cast<std::uintptr_t>(code));
    for (std::uint32_t i = 0; i < rounds; ++i) sum += function(i);
    return sum;
}

/// New code at the same place, by unmapping and mapping.
std::uint64_t map_code_anew() {
    std::uint8_t* code = map_code(PROT_READ | PROT_WRITE);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        ::munmap(code, page);
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (::mmap(code, page, PROT_READ | PROT_WRITE, flags, -1, 0) != code) return 0;
        write_function(code, i);
        ::mprotect(code, page, PROT_READ | PROT_EXEC);
        sum += as_function(code)();
    }
    return sum;
}

__attribute__((noinline, aligned(4096), used)) std::uint64_t patched_text() {
    std::uint32_t value = 0;
    asm volatile("mov $0x11111111, %0" : "=r"(value));
    return value;
}

/// A program that patches its own text, which is a file's.
std::uint64_t patch_own_text() {
    auto* const code = reinterpret_cast<std::uint8_t*>(reinterpret_cast<std::uintptr_t>(&patched_text));
    std::uint8_t* const begin = reinterpret_cast<std::uint8_t*>(reinterpret_cast<std::uintptr_t>(code) & ~(page - 1));
    constexpr std::uint8_t constant[] = {0x11, 0x11, 0x11, 0x11};
    std::uint8_t* const place = static_cast<std::uint8_t*>(::memmem(code, 64, constant, sizeof constant));
    if (!place) return 0;
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        ::mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
        std::memcpy(place, &i, sizeof i);
        ::mprotect(begin, 2 * page, PROT_READ | PROT_EXEC);
        sum += patched_text();
    }
    return sum;
}

std::uint64_t let_another_thread_generate() {
    const int fd = static_cast<int>(::syscall(SYS_memfd_create, "code", 0));
    if (fd < 0 || ::ftruncate(fd, page) != 0) return 0;
    std::uint8_t* const written = map_code(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    std::uint8_t* const executed = map_code(PROT_READ | PROT_EXEC, MAP_SHARED, fd);
    constexpr std::uint32_t asked = 20;
    write_function(written, 0);
    std::atomic<std::uint32_t> wanted{0};
    std::thread other([&] {
        for (std::uint32_t done = 0; done < asked;) {
            const std::uint32_t next = wanted.load();
            if (next == done) continue;
            std::atomic_ref(*reinterpret_cast<std::uint8_t*>(written + 1)).store(static_cast<std::uint8_t>(next));
            done = next;
        }
    });
    std::uint64_t sum = 0;
    for (std::uint32_t i = 1; i <= asked; ++i) {
        wanted.store(i);
        while (as_function(executed)() != i) {
        }
        sum += i;
    }
    other.join();
    return sum;
}

TEST(TranslatedCode, IsDroppedWhenPermissionsToggle) {
    const Followed followed = follow(generate_by_changing_permissions);
    EXPECT_EQ(followed.result, sum_of_rounds);
    EXPECT_TRUE(followed.code_changed && followed.translates);
}

TEST(TranslatedCode, IsDroppedWhenWrittenThroughAnotherMapping) {
    EXPECT_EQ(follow(generate_through_another_mapping).result, sum_of_rounds);
}

TEST(TranslatedCode, IsDroppedWhenItIsWritableAndWritten) {
    EXPECT_EQ(follow(generate_in_writable_code).result, sum_of_rounds);
}

TEST(TranslatedCode, MayChangeTheInstructionThatComesNext) {
    EXPECT_EQ(follow(change_the_next_instruction).result, sum_of_rounds);
}

TEST(TranslatedCode, IsDroppedWhenMappedAnew) { EXPECT_EQ(follow(map_code_anew).result, sum_of_rounds); }

TEST(TranslatedCode, IsDroppedWhenAFilesTextIsPatched) { EXPECT_EQ(follow(patch_own_text).result, sum_of_rounds); }

TEST(TranslatedCode, IsDroppedWhenAnotherThreadWritesIt) {
    EXPECT_EQ(follow(let_another_thread_generate).result, 20u * 21 / 2);
}

TEST(TranslatedCode, IsSeenByStepsAsItIsWhenTheyAreMade) {
    std::set<std::uint64_t> constants;
    const auto see = [&](const StaticInstruction& instruction, const Step&) {
        const bool moves_constant = instruction.length == 5 && instruction.bytes[0] == 0xb8;
        if (moves_constant) constants.insert(instruction.bytes[1] | instruction.bytes[2] << 8);
    };
    constexpr std::size_t nearly_all = rounds * 9 / 10;
    EXPECT_EQ(follow(generate_in_writable_code, Way::stepped, see).result, sum_of_rounds);
    EXPECT_GT(constants.size(), nearly_all);
    constants.clear();
    follow(generate_in_writable_code, Way::translated, see);
    EXPECT_GT(constants.size(), nearly_all);
}

/// So many functions as below that their translations, 1,400 bytes each, have no room in the translator's area.
constexpr std::size_t too_many_functions = TranslationArea::code_bytes / 1300;

/// Functions of loads and stores, all in one long list.
std::uint64_t run_much_code() {
    constexpr std::size_t functions = too_many_functions, instructions = 60, bytes_each = 5 * instructions + 1;
    std::uint8_t* const code =
        map_code(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, functions * bytes_each);
    if (!code) return 0;
    // mov (%rdi), %rdi; add $1, %eax in turn: each load's base has to be noted anew.
    constexpr std::uint8_t pair[] = {0x48, 0x8b, 0x3f, 0x83, 0xc0, 0x01};
    for (std::size_t i = 0; i < functions; ++i) {
        std::uint8_t* at = code + i * bytes_each;
        for (std::size_t k = 0; k < instructions / 2; ++k, at += sizeof pair) std::memcpy(at, pair, sizeof pair);
        *at = 0xc3;
    }
    ::mprotect(code, functions * bytes_each, PROT_READ | PROT_EXEC);
    std::uint64_t sum = 0;
    void* self = nullptr;
    self = &self;
    for (std::size_t i = 0; i < functions; ++i) {
        std::uint64_t value = i;
        void* pointer = self;
        asm volatile("sub $256, %%rsp\n call *%2\n add $256, %%rsp"
                     : "+a"(value), "+D"(pointer)
                     : "r"(code + i * bytes_each)
                     : "cc", "memory");
        sum += value;
    }
    return sum;
}

TEST(TranslatedCode, MayBeMoreThanTheAreaHolds) {
    const std::uint64_t natively = run_much_code();
    const Followed followed = follow(run_much_code);
    EXPECT_EQ(followed.result, natively);
    EXPECT_EQ(followed.exit_status, 0);
    EXPECT_TRUE(followed.translates);
    EXPECT_GT(followed.steps, too_many_functions * 60);
}

/// A far return and an interrupt's return, which take more from the stack than an address.
std::uint64_t return_from_afar() {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        asm volatile(
            "sub $128, %%rsp\n mov %%cs, %%eax\n push %%rax\n lea 1f(%%rip), %%rax\n push %%rax\n lretq\n"
            "1: mov %%rsp, %%rdx\n mov %%ss, %%eax\n push %%rax\n push %%rdx\n pushfq\n mov %%cs, %%eax\n push %%rax\n"
            "lea 2f(%%rip), %%rax\n push %%rax\n iretq\n"
            "2: add $128, %%rsp\n add %1, %0"
            : "+r"(sum)
            : "r"(i)
            : "rax", "rdx", "cc", "memory");
    }
    return sum;
}

TEST(TranslatedCode, TellsAFarReturnFromANearOne) {
    EXPECT_EQ(follow(return_from_afar).result, sum_of_rounds);
    EXPECT_EQ(follow(return_from_afar, Way::stepped).result, sum_of_rounds);
}

std::uint64_t words_by_gs[16], words_by_fs[16];

std::uint64_t use_gs() {
    for (std::uint64_t i = 0; i < 16; ++i) words_by_gs[i] = 100 + i;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        ::syscall(SYS_arch_prctl, ARCH_SET_GS, &words_by_gs[i & 7]);
        std::uint64_t first = 0, second = i & 7;
        std::uint8_t copied[8] = {};
        const void* from = reinterpret_cast<const void*>(8);
        void* to = copied;
        asm volatile("mov %%gs:0, %0\n mov %%gs:8(,%1,8), %1\n addq $1, %%gs:16\n gs movsb"
                     : "=&r"(first), "+r"(second), "+S"(from), "+D"(to)::"cc", "memory");
        sum = sum * 3 + first + second + copied[0];
    }
    std::uint64_t base = 0;
    ::syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    return sum + (base - reinterpret_cast<std::uint64_t>(words_by_gs)) + words_by_gs[5];
}

TEST(TranslatedCode, LeavesTheSegmentBasesToTheProgram) {
    // In a child, because the base of this process stays as it is.
    const std::uint64_t stepped = follow(use_gs, Way::stepped).result;
    EXPECT_NE(stepped, 0u);
    std::set<std::uint64_t> addresses;
    const auto see = [&](const StaticInstruction& instruction, const Step& step) {
        if (instruction.memory.segment == 'g' && step.load) addresses.insert(step.load);
    };
    EXPECT_EQ(follow(use_gs, Way::translated, see).result, stepped);
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(addresses.contains(reinterpret_cast<std::uint64_t>(&words_by_gs[i]))) << i;
}

__attribute__((target("fsgsbase"))) std::uint64_t write_segment_bases() {
    for (std::uint64_t i = 0; i < 16; ++i) words_by_gs[i] = words_by_fs[i] = i;
    std::uint64_t sum = 0;
    const std::uint64_t own = __builtin_ia32_rdfsbase64();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        std::uint64_t by_gs = 0, by_fs = 0;
        asm volatile("wrgsbase %2\n wrfsbase %3\n mov %%gs:8, %0\n mov %%fs:16, %1\n wrfsbase %4"
                     : "=&r"(by_gs), "=&r"(by_fs)
                     : "r"(&words_by_gs[i & 7]), "r"(&words_by_fs[i & 7]), "r"(own)
                     : "memory");
        sum = sum * 3 + by_gs * 16 + by_fs;
    }
    return sum;
}

TEST(TranslatedCode, FollowsInstructionsThatSetSegmentBases) {
    constexpr unsigned long fsgsbase_for_users = 2;
    if (!(::getauxval(AT_HWCAP2) & fsgsbase_for_users))
        GTEST_SKIP() << "this processor or kernel has no wrgsbase for programs";
    std::set<std::uint64_t> addresses;
    const auto see = [&](const StaticInstruction& instruction, const Step& step) {
        if (instruction.memory.segment == 'f' && step.load) addresses.insert(step.load);
    };
    EXPECT_EQ(follow(write_segment_bases, Way::translated, see).result,
              follow(write_segment_bases, Way::stepped).result);
    for (int i = 2; i < 10; ++i) EXPECT_TRUE(addresses.contains(reinterpret_cast<std::uint64_t>(&words_by_fs[i]))) << i;
}

#endif

}  // namespace
}  // namespace tmaprobe::trace
