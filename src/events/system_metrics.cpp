#include "events/system_metrics.h"

#include "base/json/read_text.h"
#include "events/library.h"

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
    constexpr const char* path = "system-metrics.json";
    const auto text = TRY(read_data(library, path));
    return json::read_text<std::vector<SystemMetric>>(text, label_of(library, path));
}

}  // namespace tmaprobe::events
