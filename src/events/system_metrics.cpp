#include "events/system_metrics.h"

#include "events/read_data_as.h"

namespace tmaprobe::json {

template <>
struct Description<events::SystemPart> {
    using S = events::SystemPart;
    static constexpr auto fields = std::make_tuple(field("metric", &S::metric), field("event", &S::event),
                                                   field("makes", &S::makes), optional("factor", &S::factor));
};

template <>
struct Description<events::SystemMetric> {
    using S = events::SystemMetric;
    static constexpr auto fields =
        std::make_tuple(field("name", &S::name), field("what", &S::what), field("parts", &S::parts));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<std::vector<SystemMetric>> read_system_metrics(const Library& library) {
    return read_rows<SystemMetric>(library, "system-metrics.json");
}

}  // namespace tmaprobe::events
