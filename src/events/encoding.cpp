#include "events/encoding.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/suggest.h"

namespace tmaprobe::events {
namespace {

/// A run of bits in one of the three words. A field in two places has two rows, low bits first.
struct FieldBits {
    PmuFormat format;
    std::string_view name;
    int word;   ///< 0 config, 1 config1, 2 config2
    int first;  ///< lowest bit
    int count;
};

// As in the kernel's sysfs format files: arch/x86/events/{intel,amd}/core.c, drivers/perf/arm_pmuv3.c.
constexpr std::array field_bits = {
    FieldBits{PmuFormat::intel, "event", 0, 0, 8},
    FieldBits{PmuFormat::intel, "umask", 0, 8, 8},
    FieldBits{PmuFormat::intel, "umask", 0, 40, 8},
    FieldBits{PmuFormat::intel, "edge", 0, 18, 1},
    FieldBits{PmuFormat::intel, "pc", 0, 19, 1},
    FieldBits{PmuFormat::intel, "any", 0, 21, 1},
    FieldBits{PmuFormat::intel, "inv", 0, 23, 1},
    FieldBits{PmuFormat::intel, "cmask", 0, 24, 8},
    FieldBits{PmuFormat::intel, "in_tx", 0, 32, 1},
    FieldBits{PmuFormat::intel, "in_tx_cp", 0, 33, 1},
    FieldBits{PmuFormat::intel, "eq", 0, 36, 1},
    FieldBits{PmuFormat::intel, "offcore_rsp", 1, 0, 64},
    FieldBits{PmuFormat::intel, "ldlat", 1, 0, 16},
    FieldBits{PmuFormat::intel, "frontend", 1, 0, 24},
    FieldBits{PmuFormat::intel, "snoop_rsp", 1, 0, 64},
    FieldBits{PmuFormat::amd, "event", 0, 0, 8},
    FieldBits{PmuFormat::amd, "event", 0, 32, 4},
    FieldBits{PmuFormat::amd, "umask", 0, 8, 8},
    FieldBits{PmuFormat::amd, "edge", 0, 18, 1},
    FieldBits{PmuFormat::amd, "inv", 0, 23, 1},
    FieldBits{PmuFormat::amd, "cmask", 0, 24, 8},
    FieldBits{PmuFormat::arm, "event", 0, 0, 16},
    FieldBits{PmuFormat::arm, "long", 1, 0, 1},
    FieldBits{PmuFormat::arm, "rdpmc", 1, 1, 1},
    FieldBits{PmuFormat::arm, "threshold_count", 1, 4, 1},
    FieldBits{PmuFormat::arm, "threshold_compare", 1, 2, 2},
    FieldBits{PmuFormat::arm, "threshold", 1, 5, 12},
    // PMUs that only have to be told apart: event and umask as most have them.
    FieldBits{PmuFormat::other, "event", 0, 0, 16},
    FieldBits{PmuFormat::other, "umask", 0, 16, 32},
};

std::uint64_t& word_of(EventDefinition& event, int word) {
    return word == 0 ? event.config : word == 1 ? event.config1 : event.config2;
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    const std::string_view digits = hexadecimal ? text.substr(2) : text;
    std::uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (problem != std::errc{} || end != digits.data() + digits.size())
        return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a number of at most 64 bits", text));
    return value;
}

Result<> set_field(EventDefinition& event, PmuFormat format, std::string_view field, std::uint64_t value) {
    constexpr std::array<std::string_view, 3> words = {"config", "config1", "config2"};
    for (int word = 0; word < 3; ++word)
        if (field == words[static_cast<std::size_t>(word)]) {
            word_of(event, word) = value;
            return {};
        }
    std::uint64_t rest = value;
    bool known = false;
    for (const FieldBits& bits : field_bits) {
        if (bits.format != format || bits.name != field) continue;
        known = true;
        const std::uint64_t mask = bits.count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits.count) - 1;
        std::uint64_t& word = word_of(event, bits.word);
        word = (word & ~(mask << bits.first)) | (rest & mask) << bits.first;
        rest = bits.count == 64 ? 0 : rest >> bits.count;
    }
    if (!known) {
        std::vector<std::string> fields(words.begin(), words.end());
        for (const FieldBits& bits : field_bits)
            if (bits.format == format) fields.emplace_back(bits.name);
        return fail(ErrorCode::bad_usage, fmt::format("this CPU's events have no field '{}'", field),
                    suggest(field, fields));
    }
    if (rest != 0) return fail(ErrorCode::bad_usage, fmt::format("{}={:#x} does not fit into the field", field, value));
    return {};
}

}  // namespace tmaprobe::events
