#include "report/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/findings.h"
#include "report/series.h"
#include "report/sources.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Experiment;
using record::Record;
using record::Run;

/// The answer, behind all that makes it less than measured.
std::string with_status(const Record& record, const std::string& answer) {
    return (record.partial ? "INTERRUPTED, with what was measured until then; " : "") + source_status(record) +
           (answer.empty() ? "" : ": " + answer);
}

/// The answer of an experiment that times: the counts beside it may be less than measured, its times are not.
std::string timed(const Record& record, const std::string& answer) {
    if (answer.empty() || record.source.kind == record::SourceKind::none || record.partial)
        return with_status(record, answer);
    return answer + (answer.ends_with('.') ? "" : ".") + " Time is measured; counts: " + source_status(record) + ".";
}

bool has_pair_times(const Record& record) {
    return record.extra.pairs && std::ranges::any_of(record.extra.pairs->classes, [](const record::PairClass& item) {
               return item.median_ns.has_value();
           });
}

std::string joined(const std::vector<std::string>& sentences) {
    std::string text;
    for (const auto& sentence : sentences) text += (text.empty() ? "" : text.ends_with('.') ? " " : ". ") + sentence;
    return text;
}

/// All that the experiment itself found, in sentences.
std::string findings(const Record& record) {
    auto sentences = record.extra.verdicts;
    for (auto& sentence : comparison_sentences(record)) sentences.push_back(std::move(sentence));
    return joined(sentences);
}

std::string sweep_subject(const Record& record) {
    const Curves curves = curves_of(record);
    const Run& first = record.runs.front();
    return fmt::format("{}{}{}, {} over {}", first.kernel, first.variant.empty() ? "" : " ", first.variant,
                       name_of(curves.quantity), curves.axis == "size_bytes" ? "size" : curves.axis);
}

}  // namespace

std::string subject_of(const Record& record) {
    if (record.experiment == Experiment::pairs) return "what it costs two CPUs to write to one cache line in turn";
    if (record.experiment == Experiment::interference) {
        const std::string victim = record.runs.empty() ? record.extra.victim : run_label(record.runs.front());
        return victim + (record.extra.aggressor.empty() ? "" : ", beside " + record.extra.aggressor);
    }
    if (record.runs.empty()) return record.experiment == Experiment::sweep ? "no point was measured" : "nothing";
    if (record.experiment == Experiment::sweep) return sweep_subject(record);
    const Run& first = record.runs.front();
    const std::string pages = record.runs.size() == 1 ? pages_label(first) : "";
    return run_label(first) + (pages.empty() ? "" : ", pages " + pages);
}

std::string answer_of(const Record& record, const Run& run) {
    const bool no_tree = run.metrics.empty() && record.source.kind != record::SourceKind::none;
    return with_status(record, no_tree ? "" : verdict(record, run));
}

std::vector<std::string> answers(const Record& record) {
    if (record.experiment == Experiment::sweep || record.experiment == Experiment::interference)
        return {timed(record, findings(record))};
    if (record.experiment == Experiment::pairs)
        return {timed(record, has_pair_times(record) ? findings(record) : "no pair was timed undisturbed")};
    if (record.runs.empty()) return {with_status(record, "")};
    const Run& first = record.runs.front();
    if (!differ_in_pages_only(record.runs)) return {answer_of(record, first)};
    const std::string compared = joined(comparison_sentences(record));
    if (compared.empty()) return {answer_of(record, first)};
    if (record.source.kind == record::SourceKind::none) return {with_status(record, compared)};
    return {compared, answer_of(record, first)};
}

}  // namespace tmaprobe::report
