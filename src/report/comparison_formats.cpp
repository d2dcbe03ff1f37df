#include <fmt/format.h>

#include "base/sizes.h"
#include "report/comparison.h"
#include "report/csv_row.h"
#include "report/markdown_text.h"
#include "report/numbers.h"

namespace tmaprobe::report {
namespace {

using record::Comparison;

const char* judged_word(const record::ComparedTime& time) {
    if (!time.judged || !time.ratio) return "not judged";
    return time.differs ? "differs" : "within the noise";
}

}  // namespace

std::string comparisons_csv(const std::vector<Comparison>& comparisons) {
    std::string text = "subject,before_name,after_name,name,level,before,after,ratio,low,high,status,judgement\n";
    for (const auto& comparison : comparisons) {
        const auto row = [&](const std::string& name) {
            CsvRow begun;
            begun.text(comparison.subject).text(comparison.before).text(comparison.after).text(name);
            return begun;
        };
        if (const auto& time = comparison.time) {
            CsvRow line = row("ns_per_op");
            line.empty().number(time->before_ns).number(time->after_ns);
            for (const auto& value : {time->ratio, time->low, time->high}) line.number(value.value_or(NAN));
            text += line.text("measured").text(judged_word(*time)).line() + "\n";
        }
        for (const auto& metric : comparison.metrics) {
            CsvRow line = row(metric.name);
            line.integer(metric.level).number(metric.before).number(metric.after).empty().empty().empty();
            line.text(text_of(metric.of)).text(metric.beyond_bounds ? "differs" : "within bounds");
            text += line.line() + "\n";
        }
    }
    return text;
}

std::string comparisons_markdown(const std::vector<Comparison>& comparisons) {
    std::string text;
    for (const auto& comparison : comparisons) {
        text += "### " + markdown_text(comparison.subject.empty() ? "two runs" : comparison.subject) + "\n\n";
        if (!comparison.what.empty()) text += "**" + markdown_text(comparison.what) + "**\n\n";
        text += markdown_heading(
            {"", markdown_text(comparison.before), markdown_text(comparison.after), "change", "judgement"});
        if (const auto& time = comparison.time)
            text += markdown_row({"time per operation", format_ns(time->before_ns), format_ns(time->after_ns),
                                  time->judged && time->ratio ? change_text(*time->ratio) : "-", judged_word(*time)});
        for (const auto& metric : comparison.metrics)
            text += markdown_row(compared_cells(metric, markdown_code(metric.name)));
        text += "\n";
        for (const auto& note : comparison.notes) text += "- " + markdown_text(note) + "\n";
        if (!comparison.notes.empty()) text += "\n";
    }
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
}

}  // namespace tmaprobe::report
