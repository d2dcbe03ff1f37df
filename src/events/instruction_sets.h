#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/result.h"

namespace tmaprobe::events {

struct Library;

/// How an x86 instruction is encoded.
enum class X86Prefix : std::uint8_t { legacy, vex, evex, xop };

/// Instructions of an extension, from events/instruction-sets.json.
struct InstructionSet {
    std::string feature;                ///< as LLVM calls it
    std::string instructions;           ///< a regular expression for the whole of LLVM's names of them
    std::optional<X86Prefix> encoding;  ///< none: any
};

struct InstructionSets {
    std::vector<InstructionSet> x86_64;
    std::vector<std::string> aarch64;  ///< features, in the order in which the decoder is to be told them
};

/// Errors: bad_input for a broken file.
Result<InstructionSets> read_instruction_sets(const Library& library);

}  // namespace tmaprobe::events

namespace tmaprobe {

template <>
struct Names<events::X86Prefix> {
    using enum events::X86Prefix;
    static constexpr std::pair<events::X86Prefix, std::string_view> values[] = {
        {legacy, "legacy"}, {vex, "vex"}, {evex, "evex"}, {xop, "xop"}};
};

}  // namespace tmaprobe
