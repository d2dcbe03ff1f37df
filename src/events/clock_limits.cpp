#include "events/clock_limits.h"

#include "base/json/read_text.h"
#include "events/library.h"

namespace tmaprobe::json {

template <>
struct Description<events::ClockLimits> {
    using S = events::ClockLimits;
    static constexpr auto fields = std::make_tuple(field("ratio", &S::ratio), field("windows", &S::windows));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<ClockLimits> read_clock_limits(const Library& library) {
    constexpr const char* path = "clock-check.json";
    const auto text = TRY(read_data(library, path));
    return json::read_text<ClockLimits>(text, label_of(library, path));
}

}  // namespace tmaprobe::events
