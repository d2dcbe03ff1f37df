#include "experiments/what_if.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <set>

#include "base/fd.h"
#include "events/smt.h"
#include "experiments/located_code.h"
#include "experiments/setup.h"
#include "model/calibrated_cpu.h"
#include "process/cpus_to_use.h"
#include "symbols/function_places.h"

namespace tmaprobe::experiments {
namespace {

/// A file that is gone when nobody has it open any more: on a disk where that works, else in memory. Children that are
/// forked have it too, under the same path.
Result<Fd> nameless_file() {
    std::error_code none;
    const auto folder = std::filesystem::temp_directory_path(none);
    Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file) file = Fd(::memfd_create("tmaprobe trace", MFD_CLOEXEC));
    if (!file) return fail_errno(errno, "no room for a trace");
    return file;
}

std::string path_of(const Fd& file) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
}

bool was_modelled(const record::Record& record) {
    return std::ranges::any_of(record.runs,
                               [](const record::Run& run) { return run.extra.model && run.extra.model->windows > 0; });
}

/// Which instructions are meant by the names of code.
Result<> choose_code(const std::string& file, std::vector<model::WhatIfQuestion>& questions) {
    if (std::ranges::all_of(questions, [](const auto& question) { return question.code_name.empty(); })) return {};
    const LocatedCode located(TRY(model::traced_instructions(file)));
    for (model::WhatIfQuestion& question : questions)
        if (!question.code_name.empty()) question.code = TRY(located.called(question.code_name));
    return {};
}

/// Of files with code that not every CPU can execute, those where somebody looks at what this one has.
void keep_chosen(const std::vector<model::TracedInstruction>& traced, std::vector<record::ChosenByCpu>& files) {
    std::set<std::string> asking;
    for (const model::TracedInstruction& instruction : traced)
        if (instruction.length >= 2 && instruction.bytes[0] == 0x0f && instruction.bytes[1] == 0xa2)  // cpuid
            asking.insert(instruction.place.path);
    for (record::ChosenByCpu& one : files) one.by_loader = symbols::loader_chooses(one.path);
    std::erase_if(files, [&](const auto& one) { return !one.by_loader && !asking.contains(one.path); });
}

bool asks_for_large_pages(const model::WhatIfQuestions& questions) {
    return std::ranges::any_of(questions.answers, [](const model::WhatIfQuestion& question) {
        return question.changes == std::vector{record::Change::pages_2m};
    });
}

/// Whatever large pages are asked for, this machine's host decides what an entry of its TLBs holds.
void add_split_pages(const Setup& setup, const record::WhatIf& asked, std::vector<record::Warning>& warnings) {
    const double walk = model::large_page_walk(setup.machine);
    const bool asks = std::ranges::any_of(asked.answers, [](const record::WhatIfAnswer& answer) {
        return std::ranges::any_of(answer.changes, [](record::Change change) {
            return change == record::Change::pages_2m || change == record::Change::pages_1g;
        });
    });
    if (walk <= 0 || !asks) return;
    warnings.push_back(
        {"large_pages_split",
         fmt::format("the host of this virtual machine splits large pages: what they would win is that a "
                     "page walk takes {:.0f}% of one in a small page, and none is saved",
                     100 * walk),
         "what they win where they are whole: --no-calibration, or --target names another CPU"});
}

Result<record::WhatIf> ask(const std::string& file, const CountingRequest& counting, const Setup& setup,
                           model::WhatIfQuestions questions) {
    if (questions.answers.empty()) questions.answers = standard_questions();
    questions.region = counting.attribute_in;
    questions.mappings = asks_for_large_pages(questions) && questions.region.empty();
    TRY(choose_code(file, questions.answers));
    auto answer =
        TRY(model::what_if(file, {counting.library, *setup.table, setup.machine}, questions, process::cpus_to_use()));
    std::ranges::stable_sort(answer.answers, std::greater{},
                             [](const record::WhatIfAnswer& one) { return one.speed_up.value; });
    if (!answer.chosen_by_cpu.empty()) keep_chosen(TRY(model::traced_instructions(file)), answer.chosen_by_cpu);
    return answer;
}

Result<> check_table(const Setup& setup) {
    if (setup.table) return {};
    return fail(ErrorCode::unavailable, "no table has this CPU", "--target CPU names one to model it as");
}

/// What cannot be asked is said before anything runs.
Result<> check_questions(const CountingRequest& counting, const Setup& setup, const model::WhatIfQuestions& questions) {
    TRY(check_table(setup));
    for (const model::WhatIfQuestion& question : questions.answers)
        if (std::ranges::find(question.changes, record::Change::busy_sibling) != question.changes.end())
            TRY(events::taken_by_sibling(counting.library, setup.table->folder));
    return {};
}

/// What the lines that take most would win, each by itself.
Result<> ask_lines(const std::string& file, const CountingRequest& counting, const Setup& setup,
                   std::vector<record::CodePlace>& places) {
    constexpr std::size_t most = 5;
    constexpr double worth_asking = 0.02;
    const LocatedCode located(TRY(model::traced_instructions(file)));
    model::WhatIfQuestions questions;
    std::vector<record::CodePlace*> asked;
    for (record::CodePlace& place : places) {
        if (asked.size() == most || place.share < worth_asking) break;
        auto code = located.of_line(place);
        if (!place.first_line || code.empty()) continue;
        asked.push_back(&place);
        questions.answers.push_back({{record::Change::no_waits}, 0, {}, std::move(code)});
    }
    if (asked.empty()) return {};
    const auto answer =
        TRY(model::what_if(file, {counting.library, *setup.table, setup.machine}, questions, process::cpus_to_use()));
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->if_it_never_waited = answer.answers[i].speed_up;
    return {};
}

}  // namespace

std::vector<model::WhatIfQuestion> standard_questions() {
    using enum record::Change;
    std::vector<model::WhatIfQuestion> questions;
    for (const record::Change change :
         {perfect_l1, perfect_l2, perfect_l3, no_tlb_misses, pages_2m, no_mispredictions, perfect_front_end,
          no_failed_forwarding, twice_width, twice_ports, twice_reorder_buffer, twice_memory_buffers,
          half_memory_latency, twice_memory_bandwidth, half_l3})
        questions.push_back({{change}, 0, {}, {}});
    return questions;
}

Result<record::Record> what_if(const RunRequest& request, const WhatIfRequest& what, const machine::Host& host,
                               const machine::Topology& topology, const OnProgress& on_progress) {
    RunRequest traced = request;
    if (!what.trace.empty()) {
        const Setup setup = TRY(set_up(request.counting, host, topology));
        TRY(check_questions(request.counting, setup, what.questions));
        record::Record record = start_record(request.command_line, setup);
        record::Run& run = record.runs.emplace_back();
        run.time.reason = "nothing was run: a saved trace was asked";
        run.extra.what_if = TRY(ask(what.trace, request.counting, setup, what.questions));
        run.kernel = run.extra.what_if->workload;
        add_split_pages(setup, *run.extra.what_if, record.warnings);
        record.source.kind = record::SourceKind::model;
        return record;
    }
    const Fd file = TRY(nameless_file());
    traced.counting.save_trace = path_of(file);
    const Setup setup = TRY(set_up_run(traced, host, topology));
    TRY(check_questions(request.counting, setup, what.questions));
    record::Record record = TRY(run(traced, setup, on_progress));
    if (!was_modelled(record)) {
        record.warnings.push_back({"what_if_unknown", "what changes would win is not known: nothing was modelled",
                                   "the other messages say why"});
        return record;
    }
    if (on_progress) on_progress({"simulating it with changes", 0, "", ProgressOf::step});
    auto asked = ask(traced.counting.save_trace, request.counting, setup, what.questions);
    // It has run: what is known of it is told all the same, and a command's status is its own.
    if (asked) {
        add_split_pages(setup, *asked, record.warnings);
        record.runs.front().extra.what_if = std::move(*asked);
    } else {
        record.warnings.push_back(
            {"what_if_unknown", "what changes would win is not known: " + asked.error().what, asked.error().hint});
    }
    return record;
}

Result<record::Record> where_with_gains(const RunRequest& request, const machine::Host& host,
                                        const machine::Topology& topology, const OnProgress& on_progress) {
    if (request.workload.pages.size() > 1)
        return fail(ErrorCode::bad_usage, "what lines would win is asked of one page mode at a time",
                    "name one with --pages");
    RunRequest traced = request;
    const Fd file = TRY(nameless_file());
    traced.counting.save_trace = path_of(file);
    const Setup setup = TRY(set_up_run(traced, host, topology));
    TRY(check_table(setup));
    record::Record record = TRY(run(traced, setup, on_progress));
    if (record.runs.empty() || !record.runs.front().extra.where) return record;
    if (on_progress) on_progress({"simulating it without what lines wait for", 0, "", ProgressOf::step});
    const auto asked =
        ask_lines(traced.counting.save_trace, request.counting, setup, record.runs.front().extra.where->lines);
    // The command has run: what is known is told all the same.
    if (!asked) record.warnings.push_back({"gains_unknown", "what lines would win: " + asked.error().what, ""});
    return record;
}

}  // namespace tmaprobe::experiments
