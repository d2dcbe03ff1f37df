#include "events/calibration_facts.h"

#include <algorithm>

#include "events/read_data_as.h"

namespace tmaprobe::events {
namespace {

struct FactsFile {
    std::vector<CalibrationFact> facts;
};

}  // namespace
}  // namespace tmaprobe::events

namespace tmaprobe::json {

template <>
struct Description<events::CalibrationFact> {
    using S = events::CalibrationFact;
    static constexpr auto fields = std::make_tuple(field("name", &S::name), field("what", &S::what),
                                                   field("unit", &S::unit), optional("instructions", &S::instructions));
};
template <>
struct Description<events::FactsFile> {
    using S = events::FactsFile;
    static constexpr auto fields = std::make_tuple(field("facts", &S::facts));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<std::vector<CalibrationFact>> read_calibration_facts(const Library& library) {
    return TRY(read_data_as<FactsFile>(library, "calibration.json")).facts;
}

const CalibrationFact* find_fact(const std::vector<CalibrationFact>& facts, std::string_view name) {
    const auto found = std::ranges::find(facts, name, &CalibrationFact::name);
    return found == facts.end() ? nullptr : &*found;
}

}  // namespace tmaprobe::events
