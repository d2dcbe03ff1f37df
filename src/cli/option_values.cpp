#include "cli/option_values.h"

#include <charconv>

#include "base/suggest.h"

namespace tmaprobe::cli {

Result<experiments::SourceChoice> parse_source(const std::string& word) {
    using experiments::SourceChoice;
    if (word == "auto") return SourceChoice::automatic;
    if (word == "perf") return SourceChoice::perf;
    if (word == "model") return SourceChoice::model;
    if (word == "none") return SourceChoice::none;
    if (word == "perf,model" || word == "model,perf") return SourceChoice::perf_and_model;
    return fail(ErrorCode::bad_usage, "no source is called '" + word + "'",
                suggest(word, {"auto", "perf", "model", "none", "perf,model"}));
}

Result<> parse_options(const std::vector<std::string>& words, std::map<std::string, std::string>& options) {
    for (const auto& word : words) {
        const auto equals = word.find('=');
        if (equals == 0 || equals == std::string::npos)
            return fail(ErrorCode::bad_usage, "--option '" + word + "' is not name=value",
                        "tmaprobe list kernels --verbose shows each kernel's options");
        options[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return {};
}

Result<double> parse_percent(const std::string& option, const std::string& text) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    const bool whole = stop == end || (stop + 1 == end && *stop == '%');
    if (error != std::errc{} || !whole || !(percent >= 0) || percent > 1e6)
        return fail(ErrorCode::bad_usage, option + " '" + text + "' is not a percentage",
                    "write for example " + option + " 5%");
    return percent / 100;
}

}  // namespace tmaprobe::cli
