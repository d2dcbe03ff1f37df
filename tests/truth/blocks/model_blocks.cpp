// Models basic blocks on a target.
//   model_blocks TARGET [STEPS] < blocks > cycles
// Reads "hexadecimal instructions ..." lines; prints each with the modelled cycles of one copy. The addresses that a
// block touches are those of a run on this machine, in single steps; the file STEPS, made when it is not there, keeps
// them.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "model/core/simulate.h"
#include "model/llvm/decoder.h"
#include "model/modelled_cpu.h"
#include "tests/truth/blocks/block_run.h"

namespace tmaprobe::truth {
namespace {

using namespace model;

/// Everything is in the first level, as it is where blocks are timed.
class Near final : public core::MemoryTiming {
  public:
    core::Loaded load(std::uint64_t, std::uint64_t, std::uint64_t) override { return {}; }
    std::uint64_t store(std::uint64_t, std::uint64_t, std::uint64_t cycle) override { return cycle; }
    void prefetch(std::uint64_t, std::uint64_t) override {}
    unsigned fetch(std::uint64_t, std::uint64_t) override { return 0; }
};

class Straight final : public core::BranchOracle {
  public:
    core::Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override {
        return core::Foretold::right;
    }
};

std::uint64_t address_of(const trace::StaticInstruction& what, const Registers& at) {
    const trace::MemoryOperand& memory = what.memory;
    const auto general = [&](std::int8_t number) { return number >= 0 && number < 16 ? at.general[number] : 0; };
    if (memory.base == trace::MemoryOperand::instruction_pointer)
        return at.instruction_pointer + what.length + static_cast<std::uint64_t>(memory.displacement);
    return general(memory.base) + general(memory.index) * memory.scale +
           static_cast<std::uint64_t>(memory.displacement);
}

trace::Step step_of(std::uint32_t number, const trace::StaticInstruction& what, const Registers& at) {
    // All pages are one page.
    constexpr std::uint64_t base = 0x10000000, in_page = 4095;
    constexpr int stack = 4;
    const std::uint64_t operand = base + (address_of(what, at) & in_page), top = base + (at.general[stack] & in_page);
    trace::Step step{number, 0, 0};
    if (what.loads) step.load = what.explicit_memory && !what.pop ? operand : top;
    if (what.stores) step.store = what.push ? base + ((at.general[stack] - 8) & in_page) : operand;
    if (what.push && what.loads) step.load = operand;
    if (what.pop && what.stores) step.store = operand;
    return step;
}

struct Executed {
    std::vector<Registers> registers;
    std::uint64_t first = 0;
};

/// Steps of the blocks of a list in its order, from a file or into it.
class Steps {
  public:
    explicit Steps(const char* path) {
        if (!path) return;
        file_ = std::fopen(path, "rb");
        reading_ = file_ != nullptr;
        if (!file_) file_ = std::fopen(path, "wb");
    }
    ~Steps() {
        if (file_) std::fclose(file_);
    }
    Executed of(const Bytes& block, std::size_t copies) {
        Executed out;
        std::uint64_t count = 0;
        if (reading_) {
            if (std::fread(&count, sizeof count, 1, file_) != 1 ||
                std::fread(&out.first, sizeof out.first, 1, file_) != 1)
                return {};
            out.registers.resize(count);
            if (std::fread(out.registers.data(), sizeof(Registers), count, file_) != count) return {};
            return out;
        }
        if (!step_block(block, copies, [&](const Registers& at) { out.registers.push_back(at); }, out.first))
            out.registers.clear();
        count = out.registers.size();
        if (file_) {
            std::fwrite(&count, sizeof count, 1, file_);
            std::fwrite(&out.first, sizeof out.first, 1, file_);
            std::fwrite(out.registers.data(), sizeof(Registers), count, file_);
        }
        return out;
    }

  private:
    std::FILE* file_ = nullptr;
    bool reading_ = false;
};

/// The steps of enough copies to be steady, laid out as the timed loop is.
bool trace_block(trace::Decoder& decoder, const Bytes& block, std::size_t copies, const Executed& executed,
                 trace::Trace& trace, std::size_t& period) {
    const auto& [registers, first] = executed;
    if (registers.empty()) return false;
    std::vector<std::uint32_t> number_at(block.size() * copies, 0);
    for (std::size_t copy = 0; copy < copies; ++copy)
        for (std::size_t at = 0; at < block.size();) {
            number_at[copy * block.size() + at] = static_cast<std::uint32_t>(trace.instructions.size());
            trace.instructions.push_back(
                decoder.decode(block.data() + at, block.size() - at, first + copy * block.size() + at));
            if (!trace.instructions.back().decoded) return false;
            at += trace.instructions.back().length;
        }
    for (const Registers& at : registers) {
        const std::uint64_t offset = at.instruction_pointer - first;
        if (offset >= number_at.size()) return false;
        const std::uint32_t number = number_at[offset];
        trace.steps.push_back(step_of(number, trace.instructions[number], at));
    }
    period = trace.steps.size();
    if (period != trace.instructions.size()) return false;
    for (int repeat = 0; repeat < 2; ++repeat)
        trace.steps.insert(trace.steps.end(), trace.steps.begin(),
                           trace.steps.begin() + static_cast<std::ptrdiff_t>(period));
    return true;
}

int run(const char* target, const char* steps_file) {
    auto table = events::load({}, target);
    if (!table) return std::fprintf(stderr, "%s\n", table.error().what.c_str()), 2;
    auto geometry = load_modelled_cpu({}, *table);
    if (!geometry) return std::fprintf(stderr, "%s\n", geometry.error().what.c_str()), 2;
    geometry->core.architecture = "x86_64";
    auto core = core::make_core(geometry->core);
    auto decoder = core::make_decoder("x86_64");
    if (!core || !decoder) return std::fprintf(stderr, "no core model\n"), 2;
    Steps steps(steps_file);
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream fields(line);
        std::string code;
        std::size_t instructions = 0, period = 0;
        if (!(fields >> code >> instructions)) continue;
        Bytes block;
        for (std::size_t i = 0; i + 1 < code.size(); i += 2)
            block.push_back(static_cast<std::uint8_t>(std::stoul(code.substr(i, 2), nullptr, 16)));
        trace::Trace trace;
        double cycles = -1;
        const std::size_t copies = copies_for(instructions, 600);
        const Executed executed = steps.of(block, copies);
        if (trace_block(**decoder, block, copies, executed, trace, period)) {
            Near memory;
            Straight branches;
            core::Window window;
            core::Execution execution;
            window.count = trace.steps.size();
            window.execution = &execution;
            // Up to the last one's retirement, as the timed loop waits for all of them at its end.
            if ((*core)->simulate(trace, window, memory, branches)) {
                const auto retired = [&](std::size_t step) {
                    return static_cast<double>(execution.steps[step].retired);
                };
                cycles = (retired(window.count - 1) - retired(period - 1)) /
                         static_cast<double>(window.count - period) * static_cast<double>(instructions);
            }
        }
        std::printf("%s %zu %.3f\n", code.c_str(), instructions, cycles);
    }
    return 0;
}

}  // namespace
}  // namespace tmaprobe::truth

int main(int count, char** arguments) {
    if (count < 2) return std::fprintf(stderr, "usage: model_blocks TARGET [STEPS] < blocks\n"), 2;
    return tmaprobe::truth::run(arguments[1], count > 2 ? arguments[2] : nullptr);
}
