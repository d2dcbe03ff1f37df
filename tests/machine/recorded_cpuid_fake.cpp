#include "tests/machine/recorded_cpuid_fake.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace tmaprobe::machine {

CpuidReader recorded_cpuid(const std::string& name) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> leaves;
    const std::string path = std::string(TMAPROBE_SOURCE_DIR) + "/tests/machine/cpuid/" + name + ".txt";
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream fields(line);
        std::uint32_t leaf = 0, subleaf = 0;
        CpuidRegisters registers;
        fields >> std::hex >> leaf >> subleaf >> registers.eax >> registers.ebx >> registers.ecx >> registers.edx;
        leaves[{leaf, subleaf}] = registers;
    }
    if (leaves.empty()) {
        std::cerr << "no recorded CPUID in " << path << "\n";
        std::exit(1);
    }
    return [leaves](std::uint32_t leaf, std::uint32_t subleaf) {
        const auto found = leaves.find({leaf, subleaf});
        return found == leaves.end() ? CpuidRegisters{} : found->second;
    };
}

}  // namespace tmaprobe::machine
