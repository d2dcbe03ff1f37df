// Any text as an output of perf stat: refused with a place, or counts that are finite, not negative and
// within their bounds.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "counters/replay/replay.h"

using namespace tmaprobe;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

const events::Table& table() {
    static const events::Table loaded = [] {
        auto table = events::load({}, "amdzen4");
        require(table.has_value());
        table->libpfm4_pmu.clear();  // the project's own code is what is looked at
        return *table;
    }();
    return loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.find("::") != text.npos && text.find("::::") == text.npos) return 0;  // libpfm4's spelling
    const auto snapshots = counters::replay::parse_counts("fuzzed", text);
    if (!snapshots) {
        require(snapshots.error().code == ErrorCode::bad_input && snapshots.error().what.starts_with("fuzzed:"));
        return 0;
    }
    const auto matched = counters::replay::match_all("fuzzed", *snapshots, table());
    if (!matched) {
        require(matched.error().code == ErrorCode::bad_input);
        return 0;
    }
    for (const auto& event : matched->events) {
        require(std::isfinite(event.reading.value) && event.reading.value >= 0);
        if (event.low) require(*event.low <= event.reading.value && *event.low >= 0);
        if (event.high) require(*event.high >= event.reading.value && !std::isnan(*event.high));
    }
    return 0;
}
