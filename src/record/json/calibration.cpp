#include "record/json/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/json/read_text.h"
#include "base/json/write.h"

namespace tmaprobe::record {
namespace {

constexpr const char* hint = "tmaprobe calibrate writes such files; --no-calibration goes without";

/// Why a fact cannot be true, or empty.
std::string problem_of(const CalibratedFact& fact) {
    if (!std::isfinite(fact.value) || fact.value <= 0) return "its value is no positive number";
    if (!(fact.low <= fact.value && fact.value <= fact.high)) return "its value is not between its low and high";
    if (fact.clean < 0 || fact.disturbed < 0) return "a number of readings is negative";
    return {};
}

}  // namespace

std::string serialize(const Calibration& calibration) {
    json::Writer writer(json::Layout::indented);
    json::write(writer, calibration);
    return writer.take() + "\n";
}

Result<Calibration> parse_calibration(std::string_view text, std::string_view name) {
    auto read = json::read_text<Calibration>(text, name);
    if (!read) return fail(ErrorCode::bad_input, read.error().what, hint);
    if (read->schema != calibration_schema)
        return fail(ErrorCode::bad_input,
                    fmt::format("{}: its schema is '{}', not {}", name, read->schema, calibration_schema), hint);
    if (!std::isfinite(read->clock_hz) || read->clock_hz <= 0)
        return fail(ErrorCode::bad_input, fmt::format("{}: clock_hz is no positive number", name), hint);
    std::set<std::string> names;
    for (const CalibratedFact& fact : read->facts) {
        const std::string problem = names.insert(fact.name).second ? problem_of(fact) : "it is there twice";
        if (!problem.empty())
            return fail(ErrorCode::bad_input, fmt::format("{}: {}: {}", name, fact.name, problem), hint);
    }
    return read;
}

}  // namespace tmaprobe::record
