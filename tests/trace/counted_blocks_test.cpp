#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>

#include <map>
#include <vector>

#include "tests/trace/fixture.h"
#include "trace/x86_encoding.h"

// Blocks that count how often they are executed, and write nothing else.
namespace tmaprobe::trace {
namespace {

#if defined(__x86_64__)

// How a child comes to the function is not the same each time: what is compared lies in a section of its own.
#define FOLLOWED __attribute__((noinline, section("followed_text")))
extern "C" const char __start_followed_text[], __stop_followed_text[];

struct Counted {
    std::uint64_t result = 0;
    std::size_t steps = 0, stops = 0;
    std::map<std::uint64_t, std::uint64_t> executions;  ///< of the section's instructions, by address
};

/// Follows a function in a child to its end, so many steps at once.
Counted count(std::uint64_t (*body)(), Translator::Notes notes, std::size_t at_once) {
    Counted counted;
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = body(); });
    auto decoder = model::core::make_decoder("x86_64");
    if (!process || !decoder) {
        ADD_FAILURE() << "no child to trace";
        return counted;
    }
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer, notes);
    for (bool ended = false; !ended; ++counted.stops) {
        const auto traced = translator.steps(at_once, {});
        if (!traced) {
            ADD_FAILURE() << traced.error().what;
            break;
        }
        counted.steps += traced->steps;
        ended = traced->ended;
    }
    EXPECT_TRUE(process->finish().has_value());
    counted.result = *child.result;
    const auto executions = translator.executions();
    for (std::size_t i = 0; i < executions.size(); ++i) {
        const std::uint64_t address = translator.instructions()[i].address;
        const bool is_compared = address >= reinterpret_cast<std::uint64_t>(__start_followed_text) &&
                                 address < reinterpret_cast<std::uint64_t>(__stop_followed_text);
        if (is_compared && executions[i]) counted.executions[address] += executions[i];
    }
    return counted;
}

FOLLOWED std::uint64_t recursive(std::uint64_t n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }

FOLLOWED std::uint64_t add_one(std::uint64_t n) { return n + 1; }
FOLLOWED std::uint64_t twice(std::uint64_t n) { return 2 * n; }

/// Loops, recursion, calls through pointers, repeated instructions.
FOLLOWED std::uint64_t work() {
    static char text[3000], copy[3000];
    std::uint64_t (*volatile calls[])(std::uint64_t) = {add_one, twice};
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
        sum = calls[i % 3 == 0](sum) ^ recursive(i % 8);
        void* to = copy;
        const void* from = text;
        std::uint64_t bytes = i * 7;
        text[i] = static_cast<char>(sum);
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
        for (int k = 0; k < 100; ++k) sum += sum >> 3 & 1 ? copy[k] : k;
    }
    return sum;
}

/// The carry goes on from one block to the next, through a jump that comes back.
FOLLOWED std::uint64_t keep_flags() {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        std::uint64_t low = ~std::uint64_t{0} - i % 3, high = i, left = 5, flags = 0;
        asm volatile(
            "add $2, %0\n jmp 2f\n"
            "1: lea -1(%2), %2\n jrcxz 3f\n 2: adc $0, %1\n lea (%1,%1), %1\n jmp 1b\n"
            "3: seto %%al\n lahf\n mov %%rax, %3\n"
            : "+r"(low), "+r"(high), "+c"(left), "=r"(flags)::"rax", "cc");
        sum = sum * 3 + low + high + (flags & 0xff01);
    }
    return sum;
}

volatile sig_atomic_t met = 0;
std::uint64_t here[4] = {5};

/// Faults in the middle of a block, which the handler mends.
FOLLOWED std::uint64_t fault() {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
        met = met + 1;
        static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = reinterpret_cast<greg_t>(here);
    };
    ::sigaction(SIGSEGV, &action, nullptr);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t* from = i % 10 == 0 ? nullptr : here;
        asm volatile("lea 1(%0), %0\n mov (%%rax), %%rcx\n add %%rcx, %0\n mov 8(%%rax,%%rcx), %%rcx\n jmp 3f\n 3:"
                     : "+r"(sum), "+a"(from)
                     :
                     : "rcx", "cc", "memory");
    }
    return sum * 1000 + static_cast<std::uint64_t>(met);
}

/// A timer's signals come wherever they come; the work comes out the same.
std::uint64_t interrupted() {
    struct sigaction action = {};
    action.sa_handler = [](int) { met = met + 1; };
    ::sigaction(SIGALRM, &action, nullptr);
    itimerval often = {{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    const std::uint64_t sum = keep_flags() + recursive(22);
    often = {};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    return sum;
}

TEST(CountedBlocks, AreExecutedAsOftenAsWhatIsNotedStepByStep) {
    for (auto* const body : {&work, &keep_flags, &fault}) {
        const Counted noted = count(body, Translator::Notes::blocks_and_addresses, 1'000'000'000);
        const Counted counted = count(body, Translator::Notes::blocks, 1'000'000'000);
        EXPECT_EQ(counted.result, noted.result);
        EXPECT_FALSE(counted.executions.empty());
        EXPECT_EQ(counted.executions, noted.executions);
    }
}

TEST(CountedBlocks, StopWhereItIsWanted) {
    const Counted whole = count(work, Translator::Notes::blocks, 1'000'000'000);
    for (const std::size_t at_once : {777u, 20'000u}) {
        const Counted parts = count(work, Translator::Notes::blocks, at_once);
        EXPECT_EQ(parts.result, whole.result);
        EXPECT_EQ(parts.executions, whole.executions);
        const double expected = static_cast<double>(whole.steps) / static_cast<double>(at_once);
        EXPECT_GT(static_cast<double>(parts.stops), 0.6 * expected);
        EXPECT_LT(static_cast<double>(parts.stops), expected + 2);
    }
}

TEST(CountedBlocks, AreTheSameEachTime) {
    const Counted once = count(work, Translator::Notes::blocks, 5000);
    const Counted again = count(work, Translator::Notes::blocks, 5000);
    EXPECT_EQ(once.executions, again.executions);
}

/// How often it stood while it went through a loop, after a repeated instruction of a million steps.
std::uint64_t stops_after_a_repeated_instruction() {
    constexpr std::size_t bytes = std::size_t{1} << 25;
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    void* to = memory;
    std::size_t count = bytes;
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    volatile std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 1'000'000; ++i) sum = sum + i;
    ::getrusage(RUSAGE_SELF, &after);
    return static_cast<std::uint64_t>(after.ru_nvcsw - before.ru_nvcsw);
}

TEST(CountedBlocks, AreNotStoppedForEachFewAfterARepeatedInstruction) {
    for (const auto notes : {Translator::Notes::blocks_and_addresses, Translator::Notes::blocks}) {
        const std::uint64_t stops = count(stops_after_a_repeated_instruction, notes, 50'000).result;
        EXPECT_GT(stops, 0u) << "the calls themselves";
        EXPECT_LT(stops, 1000u);
    }
}

class Awaited : public testing::TestWithParam<Translator::Notes> {};

TEST_P(Awaited, BlocksStopTheProgramWhereTheyBegin) {
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = work(); });
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(process.has_value() && decoder.has_value());
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer, GetParam());
    const auto at = reinterpret_cast<std::uint64_t>(&twice);
    std::size_t met = 0, steps = 0;
    for (bool ended = false; !ended;) {
        translator.await({at, reinterpret_cast<std::uint64_t>(&keep_flags)});
        const auto traced = translator.steps(1'000'000'000, {});
        ASSERT_TRUE(traced.has_value()) << traced.error().what;
        steps += traced->steps;
        ended = traced->ended;
        if (!translator.met()) continue;
        ++met;
        const auto registers = process->registers();
        ASSERT_TRUE(registers.has_value());
        EXPECT_EQ(registers->instruction_pointer(), at);
    }
    EXPECT_TRUE(process->finish().has_value());
    EXPECT_EQ(met, 100u);
    EXPECT_EQ(*child.result, count(work, Translator::Notes::blocks, 1'000'000'000).result);
}

INSTANTIATE_TEST_SUITE_P(Notes, Awaited,
                         testing::Values(Translator::Notes::blocks, Translator::Notes::blocks_and_addresses));

/// What is heard of the section's instructions: accesses, branches and where these lead to.
class Heard final : public BlockListener {
  public:
    struct One {
        std::uint64_t address = 0, load = 0, store = 0;
        bool operator==(const One&) const = default;
    };
    explicit Heard(const Translator& translator) : translator_(translator) {}
    void block(std::uint64_t address) override {
        if (after_branch_) note({address, 0, 0});
        after_branch_ = false;
    }
    void access(std::uint32_t instruction, std::uint64_t load, std::uint64_t store) override {
        const std::uint64_t address = translator_.instructions()[instruction].address;
        // How far down the stack lies is not the same each time.
        note({address, load & 15, store & 15});
    }
    void branch(std::uint32_t, const StaticInstruction& what) override {
        note({what.address, 0, 0});
        after_branch_ = true;
    }
    void step(const StaticInstruction& what, const Step& step) {
        block(what.address);
        if (step.load || step.store) note({what.address, step.load & 15, step.store & 15});
        if (what.branch) branch(step.instruction, what);
    }
    std::vector<One> all;

  private:
    void note(const One& one) {
        if (one.address >= reinterpret_cast<std::uint64_t>(__start_followed_text) &&
            one.address < reinterpret_cast<std::uint64_t>(__stop_followed_text))
            all.push_back(one);
    }
    const Translator& translator_;
    bool after_branch_ = false;
};

std::vector<Heard::One> hear(std::uint64_t (*body)(), bool by_step) {
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = body(); });
    auto decoder = model::core::make_decoder("x86_64");
    if (!process || !decoder) return {};
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    Heard heard(translator);
    if (!by_step) translator.tell(&heard);
    const OnStep on_step = [&](const StaticInstruction& what, const Step& step) { heard.step(what, step); };
    for (bool ended = false; !ended;) {
        const auto traced = translator.steps(10'000, by_step ? on_step : OnStep());
        if (!traced) break;
        ended = traced->ended;
    }
    EXPECT_TRUE(process->finish().has_value());
    return heard.all;
}

TEST(BlockListener, HearsOfAllAccessesAndBranches) {
    for (auto* const body : {&work, &keep_flags}) {
        const auto by_block = hear(body, false), by_step = hear(body, true);
        EXPECT_GT(by_block.size(), 100u);
        EXPECT_TRUE(by_block == by_step);
    }
}

TEST(CountedBlocks, LeaveTheFlagsAndTheSignalsToTheProgram) {
    EXPECT_EQ(count(interrupted, Translator::Notes::blocks, 1'000'000'000).result, interrupted());
    EXPECT_EQ(count(keep_flags, Translator::Notes::blocks, 1000).result, keep_flags());
}

TEST(OverwrittenFlags, AreReadFromTheEncoding) {
    const auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    const auto overwrites = [&](std::vector<std::uint8_t> bytes) {
        bytes.resize(16, 0x01);
        return overwrites_flags((*decoder)->decode(bytes.data(), bytes.size(), 0x1000));
    };
    for (const std::vector<std::uint8_t>& all : std::vector<std::vector<std::uint8_t>>{
             {0x48, 0x01, 0xd8}, {0x39, 0xd8}, {0x85, 0xc0}, {0x83, 0xf8}, {0x31, 0xc0}, {0xf7, 0xd8}, {0xa8}, {0x3c}})
        EXPECT_TRUE(overwrites(all)) << std::hex << int{all.front()};
    // adc, sbb, inc (keeps the carry), not, mov, a shift (of nothing keeps all), mul, jump, a vector's compare
    for (const std::vector<std::uint8_t>& some : std::vector<std::vector<std::uint8_t>>{{0x11, 0xd8},
                                                                                        {0x83, 0xd8},
                                                                                        {0xff, 0xc0},
                                                                                        {0xf7, 0xd0},
                                                                                        {0x89, 0xd8},
                                                                                        {0xd3, 0xe0},
                                                                                        {0xf7, 0xe3},
                                                                                        {0x74},
                                                                                        {0x0f, 0x2e, 0xc1}})
        EXPECT_FALSE(overwrites(some)) << std::hex << int{some.front()};
}

#endif

}  // namespace
}  // namespace tmaprobe::trace
