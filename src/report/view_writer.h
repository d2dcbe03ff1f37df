#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/writer.h"
#include "report/text.h"

namespace tmaprobe::report {

/// Writes a view: texts are cleaned, numbers rounded to what a chart needs.
class ViewWriter {
  public:
    explicit ViewWriter(json::Writer& writer) : writer_(writer) {}

    /// An object or array, whose content `write` writes.
    template <class Write>
    void object(const Write& write) {
        writer_.begin_object();
        write();
        writer_.end_object();
    }
    template <class Write>
    void object(std::string_view key, const Write& write) {
        writer_.key(key);
        object(write);
    }
    template <class Write>
    void array(std::string_view key, const Write& write) {
        writer_.key(key);
        writer_.begin_array();
        write();
        writer_.end_array();
    }
    /// A list whose elements `write` writes one by one.
    template <class Elements, class Write>
    void each(std::string_view key, const Elements& elements, const Write& write) {
        array(key, [&] {
            for (const auto& element : elements) write(element);
        });
    }

    template <class Elements, class Write>
    void list(const Elements& elements, const Write& write) {
        writer_.begin_array();
        for (const auto& element : elements) write(element);
        writer_.end_array();
    }

    void null(std::string_view key) {
        writer_.key(key);
        writer_.null();
    }
    void text(std::string_view key, std::string_view value) {
        writer_.key(key);
        writer_.text(clean(value));
    }
    void text(std::string_view value) { writer_.text(clean(value)); }
    void texts(std::string_view key, const std::vector<std::string>& values) {
        each(key, values, [&](const std::string& value) { text(value); });
    }
    void flag(std::string_view key, bool value) { writer_.member(key, value); }
    void count(std::string_view key, std::uint64_t value) { writer_.member(key, value); }
    void number(std::string_view key, double value, int digits = usual_digits) {
        writer_.key(key);
        number(value, digits);
    }
    void number(std::string_view key, const std::optional<double>& value) { number(key, value.value_or(NAN)); }
    /// Whole ones are written without a point.
    void number(double value, int digits = usual_digits) {
        if (!std::isfinite(value)) return writer_.null();
        constexpr double exactly_whole = 1e15;
        const double nearest = std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
        if (std::fabs(nearest) < exactly_whole && nearest == std::trunc(nearest))
            writer_.integer(static_cast<std::int64_t>(nearest));
        else
            writer_.number(nearest);
    }

  private:
    static constexpr int usual_digits = 6;
    json::Writer& writer_;
};

}  // namespace tmaprobe::report
