#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "report/answer.h"
#include "report/findings.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/sources.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Record;
using record::Run;

void show_verdict(Screen& screen, const std::string& answer) {
    screen.entry(screen.ink(Ink::bold, "Verdict") + "  ", answer);
}

void show_verdicts(Screen& screen, const Record& record) {
    for (const auto& answer : answers(record)) show_verdict(screen, answer);
}

/// Some kernels count it in ticks, of which a short command has none.
std::string processor_text(double ns) { return ns > 0 ? format_ns(ns) : "0 s"; }

/// What the kernel counted of a command or a process that was sampled.
void show_software_events(Screen& screen, const Run& run) {
    if (run.metrics.empty() || !run.extra.model || !run.extra.model->sampling) return;
    std::string counts;
    for (const auto& event : run.events) {
        if (event.pmu != "software") continue;
        const auto value =
            event.name == "task-clock" ? format_ns(event.reading.value) : plain_number(event.reading.value);
        counts += (counts.empty() ? "" : ", ") + screen.say(event.name) + " " + value;
    }
    if (!counts.empty()) screen.entry("Events", counts + " (measured)");
}

void show_time(Screen& screen, const Run& run) {
    const auto& time = run.time;
    if (!time.known) {
        screen.entry("Time", "unavailable: " + (time.reason.empty() ? "not measured" : time.reason));
        return;
    }
    const auto& ns = time.ns_per_op;
    const std::string operation = time.operation.empty() ? "operation" : time.operation;
    std::string rates = format_ns(ns.median) + " per " + operation;
    const auto add = [&](const std::string& text) { rates += ", " + text; };
    if (time.bytes_per_second.count) add(format_rate(time.bytes_per_second.median));
    const double on_bus = run.extra.bus_bytes_per_second.value_or(0);
    if (on_bus > time.bytes_per_second.median * 1.001) add(format_rate(on_bus) + " with the lines that stores fetch");
    if (time.cycles_per_byte > 0)
        add(plain_number(time.cycles_per_byte) + " cycles/byte");
    else if (time.cycles_per_op.count)
        add(plain_number(time.cycles_per_op.median) + " cycles per operation");
    if (time.processor)
        add(processor_text(time.processor->user_ns) + " user, " + processor_text(time.processor->system_ns) +
            " system");
    screen.entry("Time", rates);
    if (time.clock == record::ClockKind::processor)
        screen.entry(
            "", "processor time of the thread: too few repetitions were undisturbed, and what it waited is left out");
    if (time.tracing) {
        screen.entry("", fmt::format("{} elapsed, of which {} stopped to be copied: {}..{} by itself",
                                     format_ns(time.tracing->elapsed_ns), format_ns(time.tracing->added_ns),
                                     format_ns(ns.low), format_ns(ns.high)));
        return;
    }
    if (time.operation == "command" && ns.count == 1) {
        screen.entry("", "one run: how far another would differ is not known (--repeat 10)");
        return;
    }
    std::string spread = fmt::format("median of {}: min {}, max {}, MAD {}", ns.count, format_ns(ns.min),
                                     format_ns(ns.max), format_ns(ns.mad));
    constexpr std::size_t enough_for_interval = 6;  // fewer cannot enclose their median with 95%
    if (time.operation == "command" && ns.count >= enough_for_interval)
        spread += fmt::format("; 95% interval of the median {}..{}", format_ns(ns.low), format_ns(ns.high));
    if (time.clean + time.disturbed > 0) spread += fmt::format("; {} clean, {} disturbed", time.clean, time.disturbed);
    screen.entry("", spread);
    if (screen.style().verbose && (time.cycles_per_byte > 0 || time.cycles_per_op.count) && !time.cycles_source.empty())
        screen.entry("", "cycles: " + time.cycles_source);
}

void show_clock(Screen& screen, const Run& run) {
    if (const auto sentence = clock_sentence(run); !sentence.empty()) screen.entry("Clock", sentence);
}

/// By which figures the kernel's vectors were chosen.
void show_variant_trial(Screen& screen, const Run& run) {
    const auto& trial = run.extra.variant_trial;
    if (!trial) return;
    if (!trial->why_none.empty()) {
        screen.entry("Vectors", screen.say(trial->chosen + ", without a trial: " + trial->why_none));
        return;
    }
    std::string figures;
    for (const auto& each : trial->variants)
        figures += fmt::format("{}{} {}", figures.empty() ? "" : ", ", each.variant,
                               std::isfinite(each.bytes_per_second) ? format_rate(each.bytes_per_second) : "?");
    screen.entry("Vectors", screen.say(trial->chosen + ", by a trial in this memory: " + figures));
}

/// Huge pages that were reserved for this run alone.
void show_reserved_pages(Screen& screen, const Record& record) {
    for (const auto& [pages, from, to] : record.extra.reserved_pages)
        screen.entry("Reserved", screen.say(fmt::format(
                                     "{} huge pages of {} for this run (the pool went from {} to {}), given back",
                                     to - from, pages, from, to)));
}

void show_run_heading(Screen& screen, const Run& run, bool replayed) {
    std::string text = run_label(run);
    if (const auto pages = pages_label(run); !pages.empty()) {
        text += ", pages " + pages;
        if (run.pages->effective != record::PageKind::none && run.pages->effective != run.pages->requested)
            text += " (held by the TLB as " + text_of(run.pages->effective) + ")";
    }
    const auto& words = run.parameters.command;
    const bool command = run.kernel == "command" || words, started = !words || !words->empty();
    screen.entry(replayed ? "Counts" : !command ? "Kernel" : started ? "Command" : "Counted", text);
}

/// What the model says of translation stands beside what the TLB here was found to hold.
void show_guest_pages(Screen& screen, const std::vector<Run>& runs) {
    for (const auto& run : runs) {
        const bool modelled = std::any_of(run.metrics.begin(), run.metrics.end(),
                                          [](const auto& metric) { return metric.status == record::Status::modelled; });
        const record::PageKind taken = record::modelled_pages_apart(run);
        if (!modelled || taken == record::PageKind::none) continue;
        screen.entry(
            "",
            fmt::format(
                "Modelled with pages of {0}; this machine's TLB holds these as {1}: --assume-pages {1} models that.",
                name_of(taken), name_of(run.pages->effective)),
            0);
    }
}

void show_steps(Screen& screen, const Record& record, const Run& run) {
    if (run.metrics.empty() && record.source.kind != record::SourceKind::none) return;
    const auto steps = next_steps(record, run);
    if (!steps.empty()) screen.line();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        screen.entry(fmt::format("{}{}.", i == 0 ? "Next  " : "      ", i + 1), steps[i].what);
        // A command stays on one line, to be copied.
        if (!steps[i].command.empty()) screen.line("         " + screen.say(steps[i].command));
    }
}

void show_run(Screen& screen, const Record& record, const Run& run) {
    show_run_heading(screen, run, record.source.kind == record::SourceKind::replay);
    show_verdict(screen, answer_of(record, run));
    show_time(screen, run);
    show_software_events(screen, run);
    show_clock(screen, run);
    show_monitors(screen, run);
    if (run.extra.what_if) show_what_if(screen, run);
    if (run.extra.where) show_where(screen, record, run);
    show_basic_metrics(screen, run);
    show_tree(screen, record, run);
    show_regions(screen, run);
    show_other_metrics(screen, run);
    show_guest_pages(screen, {run});
    show_beside(screen, run);
    show_series(screen, run);
    show_cores(screen, run);
    const bool counts_alone =
        run.kernel == "command" && (run.metrics.empty() || record.source.kind == record::SourceKind::none);
    if (screen.style().verbose)
        show_details(screen, run);
    else if (counts_alone)
        show_events(screen, run);
    if (!run.extra.where) show_steps(screen, record, run);
}

void show_modes(Screen& screen, const Record& record) {
    const Run& first = record.runs.front();
    screen.entry("Kernel", run_label(first));
    show_verdicts(screen, record);
    show_page_modes(screen, record.runs);
    show_guest_pages(screen, record.runs);
    if (screen.style().verbose)
        for (const auto& run : record.runs) {
            screen.line();
            screen.entry("Pages", pages_label(run));
            show_details(screen, run);
        }
    show_steps(screen, record, first);
}

/// Where the figures come from and how they were made: what nobody needs who knows the machine.
void show_provenance(Screen& screen, const Record& record) {
    screen.line();
    screen.entry("Source", source_sentence(record));
    // Counts that are replayed were taken elsewhere.
    screen.entry(record.source.kind == record::SourceKind::replay ? "Read on" : "Host", host_sentence(record));
    const bool one_kernel = record.experiment == record::Experiment::run && !record.runs.empty();
    if (one_kernel) show_variant_trial(screen, record.runs.front());
    show_reserved_pages(screen, record);
}

void show_warnings(Screen& screen, const Record& record) {
    if (record.warnings.empty()) return;
    screen.line();
    for (const auto& warning : record.warnings) {
        screen.entry(screen.ink(Ink::yellow, "Warning") + "  ", warning.what);
        if (!warning.hint.empty()) screen.entry("", "hint: " + warning.hint);
    }
}

}  // namespace

std::string render_terminal(const Record& record, const TerminalStyle& style) {
    Screen screen(style);
    if (record.experiment == record::Experiment::sweep) {
        show_sweep_heading(screen, record);
        show_verdicts(screen, record);
        show_sweep(screen, record);
    } else if (record.experiment == record::Experiment::pairs) {
        screen.entry("Pairs", subject_of(record));
        show_verdicts(screen, record);
        show_pairs(screen, record);
    } else if (record.experiment == record::Experiment::interference) {
        show_states_heading(screen, record);
        show_verdicts(screen, record);
        show_states(screen, record);
    } else if (differ_in_pages_only(record.runs)) {
        show_modes(screen, record);
    } else if (record.runs.empty()) {
        show_verdicts(screen, record);
    } else {
        for (const auto& run : record.runs) {
            if (&run != &record.runs.front()) screen.line();
            show_run(screen, record, run);
        }
    }
    show_warnings(screen, record);
    show_provenance(screen, record);
    return screen.take();
}

}  // namespace tmaprobe::report
