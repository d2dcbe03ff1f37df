#pragma once

#include <cstdint>
#include <memory>
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

  private:
    struct Target;
    std::unique_ptr<Target> target_;  ///< null: of another architecture
};

}  // namespace tmaprobe::symbols
