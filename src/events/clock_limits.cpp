#include "events/clock_limits.h"

#include "events/read_data_as.h"

namespace tmaprobe::json {

template <>
struct Description<events::ClockLimits> {
    using S = events::ClockLimits;
    static constexpr auto fields = std::make_tuple(field("ratio", &S::ratio), field("windows", &S::windows));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<ClockLimits> read_clock_limits(const Library& library) {
    return read_data_as<ClockLimits>(library, "clock-check.json");
}

}  // namespace tmaprobe::events
