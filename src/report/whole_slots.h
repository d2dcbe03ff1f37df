#pragma once

// Slots as whole numbers, for the formats of other tools that want some.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/where.h"
#include "report/formats.h"
#include "report/text.h"

namespace tmaprobe::report {

template <class Visit>
void for_each_where(const Records& records, Visit&& visit) {
    for (const auto& record : records)
        for (const auto& run : record.runs)
            if (run.extra.where) visit(*run.extra.where);
}

/// Slots are weighted and so no whole numbers; these formats want some. What rounding takes from one it gives to the
/// next, so that the sum is that of all, rounded once.
class WholeSlots {
  public:
    std::uint64_t next(double slots) {
        exact_ += slots;
        const auto due = static_cast<std::uint64_t>(std::llround(std::max(0.0, exact_)));
        const std::uint64_t now = due - given_;
        given_ = due;
        return now;
    }

  private:
    double exact_ = 0;
    std::uint64_t given_ = 0;
};

inline std::string module_of(const record::CodePlace& place) {
    return place.module.empty() ? "code made while it ran" : clean(place.module);
}

/// What has any slots, in the order of names.
inline std::vector<std::string> causes_of(const Records& records) {
    std::map<std::string, bool> any;
    for_each_where(records, [&](const record::Where& where) {
        for (const auto& [cause, slots] : where.slots) any[cause] = true;
    });
    std::vector<std::string> causes;
    for (const auto& [cause, is_there] : any) causes.push_back(cause);
    return causes;
}

inline double of_cause(const record::CauseSlots& slots, const std::string& cause) {
    const auto found = slots.find(cause);
    return found == slots.end() ? 0 : found->second;
}

/// All slots, then those of each cause, as whole numbers.
class WholeRow {
  public:
    explicit WholeRow(const std::vector<std::string>& causes) : causes_(causes), by_cause_(causes.size()) {}
    std::vector<std::uint64_t> next(const record::CauseSlots& slots) {
        std::vector<std::uint64_t> row{0};
        for (std::size_t i = 0; i < causes_.size(); ++i) {
            row.push_back(by_cause_[i].next(of_cause(slots, causes_[i])));
            row[0] += row.back();
        }
        return row;
    }

  private:
    const std::vector<std::string>& causes_;
    std::vector<WholeSlots> by_cause_;
};

}  // namespace tmaprobe::report
