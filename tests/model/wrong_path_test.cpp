#include <gmock/gmock.h>

#include <array>
#include <set>

#include "model/core/wrong_path.h"
#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

/// Each load takes long, and it is remembered who asked for what.
class SlowMemory final : public MemoryTiming {
  public:
    Loaded load(std::uint64_t, std::uint64_t, std::uint64_t) override { return {300, SlotCause::dram}; }
    std::uint64_t store(std::uint64_t, std::uint64_t, std::uint64_t cycle) override { return cycle; }
    void prefetch(std::uint64_t, std::uint64_t) override {}
    unsigned load_in_vain(std::uint64_t address, std::uint64_t cycle) override {
        in_vain.insert(address);
        last_in_vain = cycle;
        return 300;
    }
    unsigned fetch(std::uint64_t, std::uint64_t) override { return 0; }

    std::set<std::uint64_t> in_vain;
    std::uint64_t last_in_vain = 0;
};

class AlwaysWrong final : public BranchOracle {
  public:
    Foretold foretell(const trace::StaticInstruction& branch, bool, std::uint64_t) override {
        return branch.conditional ? Foretold::wrong : Foretold::right;
    }
};

constexpr std::uint64_t first = 0x100000, apart = 64;

/// A loop that loads from one line after another, and goes this way or that by what it loaded; `other` is what it does
/// on one of the two ways.
trace::Trace loop_with(const Bytes& other, std::size_t turns) {
    const std::vector<Bytes> code{{0x48, 0x8b, 0x07},        // mov (%rdi), %rax
                                  {0x48, 0x85, 0xc0},        // test %rax, %rax
                                  {0x74, 0x04},              // je over the next
                                  other,                     // four bytes
                                  {0x48, 0x83, 0xc7, 0x40},  // add $64, %rdi
                                  {0xeb, 0xee}};             // jmp to the first
    auto trace = trace_of(code, 0, [](std::size_t) { return 0; });
    for (std::size_t turn = 0; turn < turns; ++turn)
        for (std::uint32_t number = 0; number < code.size(); ++number)
            if (number != 3 || turn % 3) trace.steps.push_back({number, number ? 0 : first + turn * apart, 0});
    return trace;
}

std::set<std::uint64_t> loaded_in_vain(const trace::Trace& trace, bool wrong_paths_load = true) {
    auto core = make_core(zen4());
    SlowMemory memory;
    AlwaysWrong branches;
    Window window{0, trace.steps.size()};
    window.wrong_paths_load = wrong_paths_load;
    EXPECT_TRUE((*core)->simulate(trace, window, memory, branches).has_value());
    return memory.in_vain;
}

const Bytes add_to_counter{0x48, 0x83, 0xc1, 0x01}, move_pointer{0x48, 0x8d, 0x7f, 0x40},
    from_loaded{0x48, 0x8d, 0x78, 0x40};

TEST(WrongPath, LoadsWhatComesAfterBothWaysMeet) {
    const auto in_vain = loaded_in_vain(loop_with(add_to_counter, 30));
    // From the turn on in which both ways of the branch are known.
    for (std::uint64_t turn = 3; turn < 30; ++turn) EXPECT_TRUE(in_vain.count(first + turn * apart)) << turn;
    EXPECT_FALSE(in_vain.count(first));
}

TEST(WrongPath, LeavesOutWhatOneOfTheWaysChanges) {
    EXPECT_THAT(loaded_in_vain(loop_with(move_pointer, 30)), testing::IsEmpty());
    EXPECT_THAT(loaded_in_vain(loop_with(from_loaded, 30)), testing::IsEmpty());
}

TEST(WrongPath, LoadsNothingWhereItIsNotToOrTheBranchAlwaysGoesOneWay) {
    EXPECT_THAT(loaded_in_vain(loop_with(add_to_counter, 30), false), testing::IsEmpty());
    auto one_way = loop_with(add_to_counter, 30);
    std::erase_if(one_way.steps, [](const trace::Step& step) { return step.instruction == 3; });
    EXPECT_THAT(loaded_in_vain(one_way), testing::IsEmpty());
}

/// The cycle in which a load of the wrong path is made, whose address is ready in cycle 100.
std::uint64_t loads_in(std::int8_t advance) {
    constexpr Unit pointer = 1;
    const auto trace = loop_with(add_to_counter, 3);
    struct FirstLoads final : Descriptors {
        const InstructionDescriptor& get(const trace::StaticInstruction& instruction, bool) override {
            return instruction.address == first_address ? load : other;
        }
        std::uint64_t first_address = 0;
        InstructionDescriptor load, other;
    };
    FirstLoads descriptors;
    descriptors.first_address = trace.instructions[0].address;
    descriptors.load.loads = true;
    descriptors.load.uses.push({pointer, Part::load, advance});
    CoreParameters parameters;
    parameters.slot_width = 6;
    parameters.reorder_buffer = 64;
    SlowMemory memory;
    TraceDescriptors of_trace(descriptors, trace);
    WrongPath path(parameters, trace, memory, of_trace);
    // The first turn takes its branch, the second does not.
    path.note(2, true);
    path.follow(7, false, 10, 1000, std::array<std::uint64_t, 2>{0, 100});
    return memory.last_in_vain;
}

TEST(WrongPath, WaysThatTakeLongerTakeLongerThere) {
    EXPECT_EQ(loads_in(0), 100u);
    EXPECT_EQ(loads_in(-5), 105u);
    EXPECT_EQ(loads_in(4), 96u);
}

TEST(WrongPath, DoesNotReachFurtherThanTheReorderBuffer) {
    auto small = zen4();
    small.reorder_buffer = 12;
    auto core = make_core(small);
    const auto trace = loop_with(add_to_counter, 30);
    SlowMemory memory;
    AlwaysWrong branches;
    ASSERT_TRUE((*core)->simulate(trace, {0, trace.steps.size() - 6 * 10}, memory, branches).has_value());
    EXPECT_FALSE(memory.in_vain.empty());
    EXPECT_FALSE(memory.in_vain.count(first + 29 * apart));
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
