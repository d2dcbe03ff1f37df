#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tmaprobe {

/// Stands for bytes that are not UTF-8.
inline constexpr std::uint32_t replacement_character = 0xfffd;

struct Utf8 {
    std::uint32_t code = 0;  ///< code point; means nothing where the bytes are not valid
    std::size_t length = 1;  ///< bytes that it takes; 1 where they are not valid
    bool valid = false;
};

/// The character that a text, which must not be empty, begins with. Overlong forms, surrogates and code points above
/// U+10FFFF are not valid.
Utf8 first_character(std::string_view text);

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD. Command lines and file
/// names are bytes; JSON, HTML and OpenMetrics are not.
std::string valid_utf8(std::string_view text);

}  // namespace tmaprobe
