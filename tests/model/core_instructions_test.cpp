#include <gtest/gtest.h>

#include "model/modelled_cpu.h"
#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

const Bytes pop_rcx = {0x59}, push_rax = {0x50};
const Bytes move_rax_to_rbx = {0x48, 0x89, 0xc3};
const Bytes multiply_rbx = {0x48, 0x0f, 0xaf, 0xdb};      // imul %rbx, %rbx
const Bytes store_eax = {0x89, 0x07};                     // mov %eax, (%rdi)
const Bytes load_eax = {0x8b, 0x07};                      // mov (%rdi), %eax
const Bytes add_with_carry = {0x48, 0x11, 0xc8};          // adc %rcx, %rax
const Bytes one_to_eax = {0xb8, 0x01, 0x00, 0x00, 0x00};  // mov $1, %eax
const Bytes decrement_rdx = {0x48, 0xff, 0xca};           // dec %rdx
const Bytes zero_eax = {0x31, 0xc0};                      // xor %eax, %eax
const Bytes multiply_rax = {0x48, 0x0f, 0xaf, 0xc0};      // imul %rax, %rax
const Bytes set_al = {0xb0, 0x01};                        // mov $1, %al
const Bytes add_constant = {0x48, 0x83, 0xc0, 0x01};      // add $1, %rax
const Bytes count_bits = {0xf3, 0x48, 0x0f, 0xb8, 0xc3};  // popcnt %rbx, %rax

const Bytes load_rax_by_rsi = {0x48, 0x8b, 0x06};               // mov (%rsi), %rax
const Bytes copy_rsi_to_rdi = {0x48, 0x89, 0xf7};               // mov %rsi, %rdi
const Bytes add_rax_to_memory = {0x48, 0x01, 0x07};             // add %rax, (%rdi)
const Bytes multiply_memory = {0x48, 0x0f, 0xaf, 0x07};         // imul (%rdi), %rax
const Bytes lower_stack = {0x48, 0x83, 0xec, 0x08};             // sub $8, %rsp
const Bytes address_of_stack = {0x48, 0x8d, 0x4c, 0x24, 0x08};  // lea 8(%rsp), %rcx
const Bytes no_operation = {0x90};
const Bytes add_double = {0xf2, 0x0f, 0x58, 0xc1};       // addsd %xmm1, %xmm0
const Bytes multiply_double = {0xf2, 0x0f, 0x59, 0xc2};  // mulsd %xmm2, %xmm0

TEST(Correction, MayLetResultsBeThereSoonerForItsOwnInstructions) {
    CoreParameters parameters = zen4();
    const double multiplies = cycles_per_step(parameters, {multiply_double});
    events::Correction correction;
    correction.instructions = "ADDSDrr";
    correction.latency = 5;
    correction.sooner_among_alike = 2;
    parameters.corrections.push_back(correction);
    EXPECT_NEAR(cycles_per_step(parameters, {add_double}), 3, 0.1);
    EXPECT_NEAR(cycles_per_step(parameters, {add_double, multiply_double}), (5 + multiplies) / 2, 0.1);
    // What was measured by a chain is the time among alike.
    events::Correction measured;
    measured.instructions = "ADDSDrr";
    measured.latency = 4;
    measured.latency_of_chain = true;
    parameters.corrections.push_back(measured);
    EXPECT_NEAR(cycles_per_step(parameters, {add_double}), 4, 0.1);
    EXPECT_NEAR(cycles_per_step(parameters, {add_double, multiply_double}), (6 + multiplies) / 2, 0.1);
}

TEST(StackEngine, LetsPopsRunAsLoads) {
    CoreParameters parameters = zen4();
    EXPECT_GT(cycles_per_step(parameters, {pop_rcx}, 8), 0.9);  // a chain through the stack pointer
    parameters.stack_engine = true;
    EXPECT_NEAR(cycles_per_step(parameters, {pop_rcx}, 8), 1 / 3.0, 0.05);
    EXPECT_LT(cycles_per_step(parameters, {push_rax}, 8), 1.1);
}

TEST(StackEngine, SynchronizesWhereAnOperationNeedsThePointer) {
    CoreParameters parameters = zen4();
    parameters.stack_engine = parameters.stack_engine_synchronizes = true;
    parameters.general_store_cycles = 1;
    parameters.stores_committed = 2;
    EXPECT_NEAR(cycles_per_step(parameters, {push_rax, lower_stack}, 0), 1 / 2.0, 0.05);
    parameters.stack_synchronization_cycles = 1;
    EXPECT_NEAR(cycles_per_step(parameters, {push_rax, lower_stack}, 0), 2 / 2.0, 0.05);
    EXPECT_LT(cycles_per_step(parameters, {push_rax, address_of_stack}, 0), 0.35);
}

TEST(RenamedMemory, IsNamedByRegistersThatNobodyHasWritten) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 7;
    parameters.renames_memory = parameters.renames_memory_by_registers = true;
    EXPECT_LT(cycles_per_step(parameters, {store_rax, load_rax}), 0.6);
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, load_rax_by_rsi}), 7 / 2.0, 0.2);
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, copy_rsi_to_rdi, load_rax}), 7 / 3.0, 0.2);
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, multiply_memory}), 10 / 2.0, 0.3);
    EXPECT_NEAR(cycles_per_step(parameters, {add_rax_to_memory}), 8, 1.1);
    parameters.renames_read_modify_write = true;
    EXPECT_NEAR(cycles_per_step(parameters, {add_rax_to_memory}), 1, 0.1);
}

TEST(RenamedMemory, MayBeForetoldOfPairsThatAreFew) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 7;
    parameters.renames_memory = parameters.renames_memory_by_registers = true;
    parameters.foretold_forwards = 4;
    EXPECT_LT(cycles_per_step(parameters, {store_rax, load_rax_by_rsi}), 0.6);
    std::vector<Bytes> eight;
    for (int i = 0; i < 8; ++i) eight.insert(eight.end(), {store_rax, load_rax_by_rsi});
    EXPECT_NEAR(cycles_per_step(parameters, eight), 7 / 2.0, 0.2);
}

TEST(RenamedMemory, FollowsTheStackPointer) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 7;
    parameters.stack_engine = true;
    parameters.renames_memory = parameters.renames_memory_by_registers = true;
    EXPECT_LT(cycles_per_step(parameters, {push_rax, lower_stack, {0x48, 0x83, 0xc4, 0x08}, {0x58}}, 0), 1.0);
    EXPECT_GT(cycles_per_step(parameters, {push_rax, {0x48, 0x89, 0xe4}, {0x58}}, 0), 2.0);  // mov %rsp, %rsp
}

TEST(NoOperations, MayTakeNoSlot) {
    CoreParameters parameters = zen4();
    EXPECT_NEAR(cycles_per_step(parameters, {move_rax_to_rbx, no_operation}), 1 / 6.0, 0.02);
    parameters.fuses_no_operations = true;
    EXPECT_LT(cycles_per_step(parameters, {move_rax_to_rbx, no_operation}), 1 / 7.0);
}

// An eliminated copy is of the value that was there: writing its source again has nothing to do with it.
TEST(EliminatedMoves, DoNotOutliveTheirSource) {
    CoreParameters parameters = zen4();
    EXPECT_LT(cycles_per_step(parameters, {load_rax, move_rax_to_rbx, move_rax_to_rbx, load_rax}), 0.6);
    EXPECT_NEAR(cycles_per_step(parameters, {multiply_rbx, move_rax_to_rbx}), 0.5, 0.1);  // the product is thrown away
}

TEST(StoreForwarding, OfLessThanIsLoadedFails) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 5;
    parameters.store_forward_failed_cycles = 17;
    EXPECT_NEAR(cycles_per_step(parameters, {store_eax, load_rax}), 17 / 2.0, 0.6);
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, load_eax}), 5 / 2.0, 0.3);
}

TEST(StoreForwarding, FailsForAsLongAsTheStoreIsInItsBuffer) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 6;
    parameters.store_forward_failed_cycles = 18;
    // A load of what was stored, whose address takes so many cycles more than the store's data, in a chain.
    const auto cycles_of_chain = [&](const Bytes& store, int sums) {
        std::vector<Bytes> code{store, {0x48, 0x8d, 0x58, 0x01}};                       // lea 1(%rax), %rbx
        for (int sum = 1; sum < sums; ++sum) code.push_back({0x48, 0x8d, 0x5b, 0x01});  // lea 1(%rbx), %rbx
        code.insert(code.end(), {{0x83, 0xe3, 0x00},                                    // and $0, %ebx
                                 {0x48, 0x8b, 0x04, 0x1f},                              // mov (%rdi, %rbx), %rax
                                 {0x83, 0xe0, 0x00}});                                  // and $0, %eax
        return cycles_per_step(parameters, code) * static_cast<double>(code.size());
    };
    constexpr int besides = 6;  // two `and` and a load of the first level
    EXPECT_NEAR(cycles_of_chain(store_eax, 4), besides + 4, 1) << "it has left";
    parameters.store_leaves_after_cycles = 7;
    EXPECT_NEAR(cycles_of_chain(store_eax, 4), 18 + 1, 1);
    EXPECT_NEAR(cycles_of_chain(store_eax, 6), 18 + 1, 1);
    EXPECT_NEAR(cycles_of_chain(store_eax, 12), besides + 12, 1);
    EXPECT_NEAR(cycles_of_chain(store_rax, 4), besides + 4, 1) << "forwarded no later than from the first level";
    parameters.failed_again_cycles = 12;
    EXPECT_NEAR(cycles_of_chain(store_eax, 6), besides + 6 + 12, 1);
}

const Bytes store_al = {0x88, 0x07}, store_cl_1 = {0x88, 0x4f, 0x01};  // mov %al, (%rdi); mov %cl, 1(%rdi)
const Bytes extend_byte = {0x0f, 0xb6, 0x07};                          // movzbl (%rdi), %eax
const Bytes convert_from_memory = {0xf3, 0x0f, 0x2c, 0x07};            // cvttss2si (%rdi), %eax

TEST(StoreForwarding, IsByTheByte) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 7;
    const auto at = [](std::size_t step) { return 0x10000000u + (step % 3 == 1 ? 1u : 0u); };
    const trace::Trace trace = trace_of({store_al, store_cl_1, extend_byte}, 3000, at);
    FixedMemory memory([](std::uint64_t) { return 0u; });
    EXPECT_NEAR(static_cast<double>(simulate(parameters, trace, memory).cycles) / 1000, 7, 0.4);
}

TEST(StoreForwarding, OfWhatAConversionReadsIsWhole) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 5;
    parameters.store_forward_failed_cycles = 50;
    EXPECT_LT(cycles_per_step(parameters, {store_eax, convert_from_memory}), 20);
}

TEST(Stores, LeaveSeveralACycleWhereTheGeometrySaysSo) {
    CoreParameters parameters = zen4();
    parameters.general_store_cycles = 1;
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax}), 1, 0.1);
    parameters.stores_committed = 2;
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax}), 0.5, 0.06);
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax}, 64), 1, 0.1);  // each to a line of its own
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax}, 32), 0.5, 0.06);
    parameters.store_block_bytes = 32;
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax}, 32), 1, 0.1);
}

TEST(Flags, ThatAreNotWrittenStay) {
    // Only the carry goes from one adc to the next, past a dec. If dec wrote it, nothing would.
    CoreParameters parameters = zen4();
    Correction slow;
    slow.instructions = "ADC64rr";
    slow.latency = 9;
    parameters.corrections = {slow};
    EXPECT_NEAR(cycles_per_step(parameters, {one_to_eax, add_with_carry, decrement_rdx}), 9 / 3.0, 0.2);
}

TEST(Idioms, BreakTheChain) {
    EXPECT_NEAR(cycles_per_step(zen4(), {multiply_rax}), 3, 0.1);
    EXPECT_LT(cycles_per_step(zen4(), {zero_eax, multiply_rax}), 0.7);
}

TEST(PartsOfRegisters, KeepTheRest) { EXPECT_NEAR(cycles_per_step(zen4(), {set_al}), 1, 0.1); }

TEST(Constants, AreAddedAtRenamingUpToALimit) {
    CoreParameters parameters = zen4();
    EXPECT_NEAR(cycles_per_step(parameters, {add_constant}), 1, 0.05);
    parameters.adds_constants_below = 1024;
    EXPECT_LT(cycles_per_step(parameters, {add_constant}), 0.3);
    parameters.adds_constants_below = 2;
    EXPECT_GT(cycles_per_step(parameters, {add_constant}), 0.4);
}

TEST(Constants, OfAThousandAreAddedAtRenamingEverySecondTime) {
    CoreParameters parameters = zen4();
    parameters.adds_constants_below = 1024;
    EXPECT_NEAR(cycles_per_step(parameters, {{0x48, 0x81, 0xc3, 0xe8, 0x03, 0x00, 0x00}}), 0.5,
                0.05);  // addq $1000,%rbx
    EXPECT_NEAR(cycles_per_step(parameters, {{0x48, 0x8d, 0x80, 0xe8, 0x03, 0x00, 0x00}}), 0.5,
                0.05);  // leaq 1000(%rax),%rax
}

TEST(Constants, WithoutFlagsTakeNoPort) {
    CoreParameters parameters = zen4();
    const Bytes address{0x48, 0x8d, 0x50, 0x01};                     // leaq 1(%rax),%rdx
    const Bytes relative{0x48, 0x8d, 0x15, 0x01, 0x00, 0x00, 0x00};  // leaq 1(%rip),%rdx
    const double with_port = cycles_per_step(parameters, {address});
    EXPECT_GT(with_port, 1.4 / parameters.slot_width);
    parameters.adds_constants_below = 1024;
    EXPECT_NEAR(cycles_per_step(parameters, {address}), 1.0 / parameters.slot_width, 0.02);
    EXPECT_NEAR(cycles_per_step(parameters, {relative}), with_port, 0.02);
}

TEST(Corrections, ReplaceWhatLlvmHas) {
    CoreParameters parameters = zen4();
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 0.25, 0.03);
    Correction correction;
    correction.instructions = "POPCNT64r[rm]";
    correction.reads_destination = true;
    correction.latency = 3;
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 3, 0.1);
    correction.reads_destination.reset();
    correction.ports = {{"ALU1", 1}};
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 1, 0.1);
    correction.ports = {{"ALU1+ALU2", 1}};
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 0.5, 0.05);
}

TEST(Corrections, OfZensLetTheAccumulatorBeSummedIntoLikeOtherRegisters) {
    for (const char* const folder : {"amdzen3", "amdzen4", "amdzen5"}) {
        const events::CpuGeometry cpu = events::read_cpu_geometry({}, folder).value();
        CoreParameters parameters = zen4();
        parameters.llvm_cpu = cpu.core->llvm_cpu;
        const Bytes copy{0x89, 0xc8}, and_accumulator{0x25, 0xe8, 0x03, 0x00, 0x00};
        EXPECT_GT(cycles_per_step(parameters, {copy, and_accumulator}), 0.4) << "LLVM has it four times as dear";
        parameters.corrections = cpu.corrections;
        EXPECT_LT(cycles_per_step(parameters, {copy, and_accumulator}), 0.3) << folder;
    }
}

TEST(Corrections, OfAUnitBesideThePortsLeaveThePortToOthers) {
    CoreParameters parameters = zen4();
    parameters.units = {"Divider"};
    Correction correction;
    correction.instructions = "POPCNT64r[rm]";
    correction.ports = {{"ALU1", 1}, {"Divider", 4}};
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 4, 0.1);
    // Products have the same port, but for one cycle of each four.
    const Bytes multiply = {0x48, 0x6b, 0xd6, 0x03};  // imul $3, %rsi, %rdx
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits, multiply, multiply, multiply}), 1, 0.05);
    // What waits for the divider waits in its port's scheduler: as much as that holds is on its way, and no more.
    correction.ports = {{"ALU1", 1}, {"Divider", 18}};
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {count_bits}), 18, 0.6);
    parameters.units.clear();
    EXPECT_FALSE(make_core(parameters).has_value()) << "a unit that the core does not have";
}

TEST(Corrections, ByNameAndBytesAreOfWhatHasBoth) {
    CoreParameters parameters = zen4();
    const Bytes above = {0x48, 0x0f, 0x47, 0xce}, below = {0x48, 0x0f, 0x42, 0xce};  // cmova, cmovb %rsi, %rcx
    const double as_llvm_has_it = cycles_per_step(parameters, {above});
    Correction correction;
    correction.instructions = "CMOV64r[rm]";
    correction.bytes = {{0x0f, 0x47}};
    correction.latency = 7;
    parameters.corrections = {correction};
    EXPECT_NEAR(cycles_per_step(parameters, {above}), 7, 0.2);
    EXPECT_LT(cycles_per_step(parameters, {below}), 2);
    parameters.corrections.front().instructions = "POPCNT64r[rm]";
    EXPECT_NEAR(cycles_per_step(parameters, {above}), as_llvm_has_it, 0.05);
}

TEST(Corrections, OfAResourceThatIsNoneAreRefused) {
    CoreParameters parameters = zen4();
    Correction correction;
    correction.instructions = "POPCNT64rr";
    correction.ports = {{"NoSuchPort", 1}};
    parameters.corrections = {correction};
    const auto core = make_core(parameters);
    ASSERT_FALSE(core.has_value());
    EXPECT_EQ(core.error().code, ErrorCode::bad_input);
    EXPECT_NE(core.error().what.find("NoSuchPort"), std::string::npos);
}

Result<model::ModelledCpu> parsed(const std::string& text) {
    const auto cpu = TRY(events::parse_cpu_geometry(text, "a"));
    return model::modelled_cpu(cpu, "a", "");
}

std::string geometry_with(const std::string& correction) {
    return R"({"core": {"llvm_cpu": "znver4"}, "corrections": [)" + correction + R"(],
               "caches": [{"level": 1, "kind": "data", "size": "32K", "ways": 8, "latency_cycles": 4},
                          {"level": 2, "kind": "unified", "size": "1M", "ways": 8, "latency_cycles": 14}]})";
}

TEST(Corrections, AreReadFromTheGeometryAndMalformedOnesRefused) {
    const auto good = parsed(geometry_with(R"({"instructions": "LEA64r", "when": "scaled index", "latency": 2})"));
    ASSERT_TRUE(good.has_value()) << good.error().what;
    ASSERT_EQ(good->core.corrections.size(), 1u);
    EXPECT_EQ(good->core.corrections[0].latency, 2u);
    EXPECT_EQ(good->core.corrections[0].when, Correction::When::scaled_index);
    for (const char* bad :
         {R"({"latency": 2})", R"({"instructions": "LEA(", "latency": 2})",
          R"({"instructions": "LEA", "when": "never"})", R"({"instructions": "LEA", "latency": "two"})",
          R"({"instructions": "LEA", "ports": {"P0": "x"}})"}) {
        const auto refused = parsed(geometry_with(bad));
        ASSERT_FALSE(refused.has_value()) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::bad_input) << bad;
    }
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
