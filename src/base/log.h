#pragma once

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

/// What the tool does while it works, on stderr, for whoever looks into a problem. Silent unless asked for.
namespace tmaprobe::log {

enum class Level {
    silent,
    info,    ///< -v: what was detected, planned and chosen, what was refused, and how long each step took
    detail,  ///< -vv: also each single thing: every event that was opened, with its attributes, every file that was
             ///< read
};

void set_level(Level level);
bool enabled(Level level);

/// One line. Control characters are shown as escapes: names and files are not ours.
void write(Level level, std::string_view text);

template <class... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void detail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (enabled(Level::detail)) write(Level::detail, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Says at its end how long a step took.
class Step {
  public:
    explicit Step(std::string_view name) : name_(name), start_(std::chrono::steady_clock::now()) {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step();

  private:
    std::string name_;
    std::chrono::steady_clock::time_point start_;
};

/// "silent", "info" or "detail", as the environment variable TMAPROBE_LOG has them; silent for anything else.
Level level_named(std::string_view name);

}  // namespace tmaprobe::log
