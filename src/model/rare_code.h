#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/translator.h"

namespace tmaprobe::model {

/// Code that takes a part of a run that matters, and that windows at random places have met too seldom to know what it
/// costs: something that is done in one round of a hundred. Blocks are named by their first instruction's address.
class RareCode {
  public:
    /// Of a whole run of so many instructions.
    RareCode(const std::vector<trace::Translator::BlockCount>& blocks, std::uint64_t instructions);

    /// A window has met these instructions.
    void met(const std::vector<trace::StaticInstruction>& instructions, const std::vector<trace::Step>& window);
    /// Which blocks have been met too seldom after this share of the run, those that matter most first.
    std::vector<std::uint64_t> wanted(double progress) const;

  private:
    struct Block {
        double share = 0;  ///< of all executed instructions
        std::size_t windows = 0;
    };
    std::map<std::uint64_t, Block> blocks_;
};

}  // namespace tmaprobe::model
