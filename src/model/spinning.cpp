#include "model/spinning.h"

#include <set>

namespace tmaprobe::model {
namespace {

bool same_general(const trace::Registers& one, const trace::Registers& other) {
    if (one.instruction_pointer() != other.instruction_pointer()) return false;
    constexpr int general_registers = 16;
    for (int i = 0; i < general_registers; ++i)
        if (one.general(i) != other.general(i)) return false;
    return true;
}

}  // namespace

bool spins(const std::vector<trace::Step>& steps, trace::Tracer& tracer, const trace::TracedProcess& process,
           const trace::Translator& translator) {
    constexpr std::size_t longest_loop = 16, most_addresses = 2, looked_at = 1000;
    if (steps.size() < looked_at) return false;
    std::set<std::uint32_t> instructions;
    std::set<std::uint64_t> loads;
    for (auto step = steps.end() - looked_at; step != steps.end(); ++step) {
        instructions.insert(step->instruction);
        if (step->load) loads.insert(step->load);
        const bool writes = step->store != 0 || translator.instructions()[step->instruction].system;
        if (writes || instructions.size() > longest_loop || loads.size() > most_addresses) return false;
    }
    const auto first = process.registers();
    if (!first) return false;
    for (std::size_t i = 0; i < 2 * longest_loop; ++i) {
        trace::Trace ignored;
        const auto stepped = tracer.trace(1, ignored);
        const auto now = process.registers();
        if (!stepped || stepped->ended || !now) return false;
        if (same_general(*first, *now)) return true;
    }
    return false;
}

}  // namespace tmaprobe::model
