// How a calibration stands in JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json/fields.h"
#include "base/result.h"
#include "record/calibration.h"

namespace tmaprobe::json {

template <>
struct Description<record::CalibratedFact> {
    using S = record::CalibratedFact;
    static constexpr std::string_view name = "calibrated_fact", meaning = "one property of the core or its memory";
    static constexpr auto fields = std::make_tuple(
        field("name", &S::name, "as events/calibration.json has it"),
        field("unit", &S::unit, "cycles, steps per cycle, ns or bytes per second"),
        field("value", &S::value, "median of the clean readings"),
        field("low", &S::low, "the least of them, without an eighth"),
        field("high", &S::high, "the most of them, without an eighth"),
        field("clean", &S::clean, "readings that nothing disturbed"), field("disturbed", &S::disturbed, "the others"),
        field("reason", &S::reason, "why the model does not use it; empty: it may"),
        optional("readings", &S::readings, "the latest, oldest first, of what is read once more now and then"));
};

template <>
struct Description<record::Calibration> {
    using S = record::Calibration;
    static constexpr std::string_view name = "calibration", meaning = "what the clock says of one machine's core";
    static constexpr auto fields = std::make_tuple(
        field("schema", &S::schema, "tmaprobe.calibration/1"), field("tool_version", &S::tool_version, "of tmaprobe"),
        field("cpu_id", &S::cpu_id, "as perf spells it"), field("cpu_model", &S::cpu_model, "as the CPU calls itself"),
        field("folder", &S::folder, "whose tables it was compared with"), field("measured", &S::measured, "when, UTC"),
        field("clock_hz", &S::clock_hz, "core clock, median"), field("facts", &S::facts, "what was found"));
};

}  // namespace tmaprobe::json

namespace tmaprobe::record {

std::string serialize(const Calibration& calibration);

/// Errors: bad_input for what is no calibration of this version, for a fact that is named twice, and for a value that
/// no machine can have (not a positive number, outside of its own low and high).
Result<Calibration> parse_calibration(std::string_view text, std::string_view name);

}  // namespace tmaprobe::record
