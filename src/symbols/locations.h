#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::symbols {

/// A function that an instruction is of, and where in its source the instruction comes from.
struct Frame {
    std::string function;  ///< demangled; empty: not known
    std::string file;      ///< as the compiler was given it, made absolute; empty: not known
    unsigned line = 0;     ///< 0: not known
};

/// What is known of one instruction.
struct Location {
    std::uint64_t address = 0;  ///< in the module, as its own symbol table counts
    std::vector<Frame> frames;  ///< the innermost inlined function first, the one that was called last; may be none
    std::uint64_t begins = 0;   ///< address of the function that was called; 0: not known
    std::string instruction;    ///< in the assembler's words; empty: it could not be read
};

/// Of instructions at these offsets in an ELF file, each in its place. Debug information is found as debuggers find it:
/// in the file, by its .gnu_debuglink, by its build id in /usr/lib/debug or from the servers that DEBUGINFOD_URLS
/// names, and split off (.dwo, .dwp). It is read in a process of its own: what is broken in it costs the answer and
/// nothing else. Errors: unavailable when the file cannot be read, or reading it fails or takes longer than
/// `patience_seconds`.
Result<std::vector<Location>> locate(const std::string& path, const std::vector<std::uint64_t>& offsets,
                                     double patience_seconds = 60);

/// What stands for the path of the code that the kernel lends to each program, here and in /proc/PID/maps.
inline constexpr const char* vdso_module = "[vdso]";

/// The same of this machine's vDSO; offsets are from its beginning.
Result<std::vector<Location>> locate_in_vdso(const std::vector<std::uint64_t>& offsets, double patience_seconds = 60);

/// Data of a program that have a name.
struct Variable {
    std::string name;  ///< demangled; empty: there is none at this address
    std::string file;  ///< that declares it; empty: not known
    unsigned line = 0;
    std::uint64_t begin = 0, bytes = 0;  ///< as the module's symbols count
};

/// Of addresses in an ELF file, each in its place; they are counted from where its first page lies in memory. Read and
/// found as by locate(). Errors: the same.
Result<std::vector<Variable>> variables(const std::string& path, const std::vector<std::uint64_t>& addresses,
                                        double patience_seconds = 60);

/// A piece of an ELF file whose instructions were executed.
struct ExecutedCode {
    std::uint64_t begin = 0, last = 0;  ///< offsets of its first and of its last instruction
};

/// Where executed code is first met on the ways that lead to it from the beginnings of functions through code that was
/// not executed: offsets of instructions, each once. All numbers are offsets in the file; `executed` is in order. A way
/// through a branch whose target is in a register is not found. It is read in a process of its own. Errors: as
/// locate().
Result<std::vector<std::uint64_t>> entries(const std::string& path, const std::vector<std::uint64_t>& functions,
                                           const std::vector<ExecutedCode>& executed, double patience_seconds = 60);

}  // namespace tmaprobe::symbols
