#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tmaprobe::symbols {

/// Functions that a compiler made while the program ran, as it told perf: /tmp/perf-PID.map.
class PerfMap {
  public:
    /// Lines of "START SIZE NAME", the numbers in hex; others are left out. Of what is told twice the last is true.
    static PerfMap parse(const std::string& text);
    /// Of a process that wrote one; else empty. One that belongs to neither the user nor root is nobody's to believe.
    static PerfMap of_process(pid_t process);

    struct Function {
        std::uint64_t begin = 0, end = 0;
        std::string name;
    };
    /// Null where there is none.
    const Function* find(std::uint64_t address) const;
    bool empty() const { return functions_.empty(); }

  private:
    std::vector<Function> functions_;  ///< by address
};

}  // namespace tmaprobe::symbols
