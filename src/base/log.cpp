#include "base/log.h"

#define SPDLOG_FMT_EXTERNAL
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/utf8.h"

namespace tmaprobe::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
    switch (level) {
        case Level::info:
            return spdlog::level::info;
        case Level::detail:
            return spdlog::level::debug;
        case Level::silent:
            break;
    }
    return spdlog::level::off;
}

spdlog::logger& logger() {
    static const auto logger = [] {
        auto made = std::make_shared<spdlog::logger>("tmaprobe", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("tmaprobe: %H:%M:%S.%e  %v");
        made->set_level(spdlog::level::off);
        return made;
    }();
    return *logger;
}

}  // namespace

void set_level(Level level) { logger().set_level(level_of(level)); }

bool enabled(Level level) { return level != Level::silent && logger().should_log(level_of(level)); }

void write(Level level, std::string_view text) {
    std::string shown;
    for (const char c : valid_utf8(text)) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            shown += c;
    }
    logger().log(level_of(level), "{}", shown);
}

Step::~Step() {
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start_;
    info("{} took {:.1f} ms", name_, taken.count());
}

Level level_named(std::string_view name) {
    if (name == "info") return Level::info;
    if (name == "detail") return Level::detail;
    return Level::silent;
}

}  // namespace tmaprobe::log
