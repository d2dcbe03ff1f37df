#pragma once

#include <string>

#include "record/record.h"

namespace tmaprobe::report {

/// Whether the metric is a share of something (slots, cycles, operations) and shown in percent.
bool is_share(const record::Metric& metric);

/// What the share is of, in words: "slots", "cycles", "uops", "parent"; empty for other units.
std::string share_of(const record::Metric& metric);

/// A fraction as percent with one decimal: 0.675 -> "67.5%". "?" when it is not known.
std::string percent(double fraction);

/// Three significant digits, with k, M, G, T above 10000: 1234567 -> "1.23M".
std::string plain_number(double value);

/// The value in its unit: "67.5%", "1.23 /kinstr", "2.41". A dash without a value.
std::string value_text(const record::Metric& metric);

/// "66.0..69.1%"; empty without a value, "unknown" when the bounds are not known.
std::string bounds_text(const record::Metric& metric);

/// "measured", "not counted", ...
std::string status_words(const record::Metric& metric);

/// Of which pages the run's memory is: "16M in 2m + 4K in 4k"; empty where that is not known.
std::string obtained_text(const record::Run& run);

/// A relative change: 1.31 -> "+31.0%".
std::string change_text(double ratio);

}  // namespace tmaprobe::report
