#include "base/sizes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tmaprobe {
namespace {

/// The power of 1024 that a suffix stands for, or -1.
int suffix_power(std::string_view suffix) {
    if (suffix.empty() || suffix == "B") return 0;
    const std::string_view letters = "KMGT";
    const char letter = suffix[0] >= 'a' ? static_cast<char>(suffix[0] - 'a' + 'A') : suffix[0];
    const auto at = letters.find(letter);
    const auto rest = suffix.substr(1);
    if (at == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return -1;
    return static_cast<int>(at) + 1;
}

/// Three significant digits, plain notation.
std::string three_digits(double value) {
    const double size = std::fabs(value);
    if (size >= 99.95) return fmt::format("{:.0f}", value);
    if (size >= 9.995) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

template <std::size_t N>
std::string scaled(double value, const std::array<const char*, N>& units) {
    std::size_t unit = 0;
    while (std::fabs(value) >= 999.5 && unit + 1 < N) {
        value /= 1000;
        ++unit;
    }
    return three_digits(value) + " " + units[unit];
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const int power = error == std::errc{} ? suffix_power({stop, static_cast<std::size_t>(end - stop)}) : -1;
    if (power < 0)
        return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a size", text),
                    "write bytes with an optional suffix K, M or G, for example 16M");
    if (number == 0) return fail(ErrorCode::bad_usage, "a size of 0 bytes holds nothing to measure");
    const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (number > limit >> (10 * power))
        return fail(ErrorCode::bad_usage, fmt::format("'{}' is more than any machine can address", text));
    return number << (10 * power);
}

std::string format_size(std::uint64_t bytes) {
    const std::string_view letters = "KMGT";
    std::string suffix;
    for (const char letter : letters) {
        if (bytes == 0 || bytes % 1024 != 0) break;
        bytes /= 1024;
        suffix = letter;
    }
    return fmt::format("{}{}", bytes, suffix);
}

std::string format_rate(double bytes_per_second) {
    return scaled(bytes_per_second, std::array{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
}

std::string format_ns(double nanoseconds) { return scaled(nanoseconds, std::array{"ns", "us", "ms", "s"}); }

std::string format_page_size(std::uint64_t page_bytes) {
    std::string name = format_size(page_bytes);
    for (char& letter : name)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return name;
}

}  // namespace tmaprobe
