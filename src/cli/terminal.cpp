#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tmaprobe::cli {

int columns_of(int descriptor) {
    constexpr int usual = 80, least = 40, most = 1000;
    winsize size{};
    if (descriptor >= 0 && ::isatty(descriptor) && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return std::clamp<int>(size.ws_col, least, most);
    const char* given = std::getenv("COLUMNS");
    const std::string_view text = given ? given : "";
    int columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    const bool number = error == std::errc{} && end == text.data() + text.size() && columns > 0;
    return number ? std::clamp(columns, least, most) : usual;
}

bool utf8_locale() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (!value || !*value) continue;
        const std::string_view text(value);
        for (const char* spelling : {"UTF-8", "utf8", "utf-8", "UTF8"})
            if (text.find(spelling) != std::string_view::npos) return true;
        return false;
    }
    return false;
}

bool is_dumb_terminal() {
    const char* kind = std::getenv("TERM");
    return kind && std::string_view(kind) == "dumb";
}

}  // namespace tmaprobe::cli
