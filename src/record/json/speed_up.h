// How a speed-up stands in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/speed_up.h"

namespace tmaprobe::json {

template <>
struct Description<record::SpeedUp> {
    using T = record::SpeedUp;
    static constexpr std::string_view name = "speed_up", meaning = "How many times as fast: 1 is as it is, less slower";
    static constexpr auto fields =
        std::make_tuple(field("value", &T::value, "By the model").at_least(0),
                        field("low", &T::low, "Least, over the windows and what the model cannot know").at_least(0),
                        field("high", &T::high, "Greatest").at_least(0));
};

}  // namespace tmaprobe::json
