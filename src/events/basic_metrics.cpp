#include "events/basic_metrics.h"

#include "events/read_data_as.h"

namespace tmaprobe::json {

template <>
struct Description<events::BasicMetric> {
    using B = events::BasicMetric;
    static constexpr auto fields = std::make_tuple(field("name", &B::name), field("event", &B::event),
                                                   optional("per", &B::per), field("what", &B::what));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<std::vector<BasicMetric>> read_basic_metrics(const Library& library) {
    return read_rows<BasicMetric>(library, "basic-metrics.json");
}

}  // namespace tmaprobe::events
