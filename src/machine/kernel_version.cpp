#include "machine/kernel_version.h"

#include <charconv>

namespace tmaprobe::machine {

KernelVersion parse_kernel_version(const std::string& text) {
    KernelVersion version{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (int& number : version) {
        const auto read = std::from_chars(at, end, number);
        if (read.ec != std::errc{}) break;
        at = read.ptr;
        if (at == end || *at++ != '.') break;
    }
    return version;
}

KernelVersion upstream_version(const std::string& release, const std::string& version, const std::string& signature) {
    const KernelVersion said = parse_kernel_version(release);
    const auto agrees = [&](const KernelVersion& other) { return other[0] == said[0] && other[1] == said[1]; };
    if (const auto last = signature.rfind(' '); last != std::string::npos) {
        const KernelVersion ubuntu = parse_kernel_version(signature.substr(last + 1));
        if (agrees(ubuntu)) return ubuntu;
    }
    constexpr const char* debian_mark = "Debian ";
    if (const auto mark = version.find(debian_mark); mark != std::string::npos) {
        const KernelVersion debian =
            parse_kernel_version(version.substr(mark + std::char_traits<char>::length(debian_mark)));
        if (agrees(debian)) return debian;
    }
    return said;
}

}  // namespace tmaprobe::machine
