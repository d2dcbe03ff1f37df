#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Triple.h>

namespace tmaprobe::symbols {

/// Instructions in the assembler's words, of the architecture that this build is for.
class Disassembly {
  public:
    explicit Disassembly(llvm::Triple::ArchType architecture);
    ~Disassembly();
    Disassembly(const Disassembly&) = delete;
    Disassembly& operator=(const Disassembly&) = delete;

    /// The first instruction of the bytes; empty when they are none.
    std::string text(llvm::StringRef bytes, std::uint64_t address) const;

    /// Where the first instruction leads to.
    struct Ways {
        std::uint64_t size = 0;
        bool goes_on = false;                 ///< to what comes next, also after a call
        std::optional<std::uint64_t> target;  ///< of a branch to an address that it names; of a call: none
    };
    /// Nothing when the bytes are no instruction.
    std::optional<Ways> ways(llvm::StringRef bytes, std::uint64_t address) const;

  private:
    struct Target;
    std::unique_ptr<Target> target_;  ///< null: of another architecture
};

}  // namespace tmaprobe::symbols
