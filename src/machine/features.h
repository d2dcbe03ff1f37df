#pragma once

#include <string>
#include <vector>

namespace tmaprobe::machine {

/// Instruction set extensions that this process may use, by the names of Linux's /proc/cpuinfo where it
/// has one ("sha_ni", "avx2", "avx512f"; on Arm "sha2", "sve"). An extension whose registers the
/// operating system does not save (XGETBV) is left out. Read from the processor, so an emulator's
/// CPU gives its own.
std::vector<std::string> instruction_set_features();

}  // namespace tmaprobe::machine
