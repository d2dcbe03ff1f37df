#include "experiments/what_if.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "experiments/setup.h"

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

unsigned cpus_to_use() {
    cpu_set_t cpus;
    if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
    constexpr int many = 8;
    return static_cast<unsigned>(std::clamp(CPU_COUNT(&cpus), 1, many));
}

bool was_modelled(const record::Record& record) {
    return std::ranges::any_of(record.runs,
                               [](const record::Run& run) { return run.extra.model && run.extra.model->windows > 0; });
}

Result<record::WhatIf> ask(const std::string& file, const CountingRequest& counting, const Setup& setup,
                           model::WhatIfQuestions questions) {
    if (questions.answers.empty()) questions.answers = standard_questions();
    auto answer =
        TRY(model::what_if(file, {counting.library, *setup.table, setup.calibration}, questions, cpus_to_use()));
    std::ranges::stable_sort(answer.answers, std::greater{},
                             [](const record::WhatIfAnswer& one) { return one.speed_up.value; });
    return answer;
}

}  // namespace

std::vector<std::vector<record::Change>> standard_questions() {
    using enum record::Change;
    return {{perfect_l1},
            {perfect_l2},
            {perfect_l3},
            {no_tlb_misses},
            {pages_2m},
            {no_mispredictions},
            {perfect_front_end},
            {no_failed_forwarding},
            {twice_width},
            {twice_ports},
            {twice_reorder_buffer},
            {twice_memory_buffers},
            {half_memory_latency},
            {twice_memory_bandwidth},
            {half_l3}};
}

Result<record::Record> what_if(const RunRequest& request, const WhatIfRequest& what, const machine::Host& host,
                               const machine::Topology& topology, const OnProgress& on_progress) {
    RunRequest traced = request;
    const Setup setup = TRY(set_up(traced.counting, host, topology));
    if (!setup.table)
        return fail(ErrorCode::unavailable, "no table has this CPU", "--target CPU names one to model it as");
    if (!what.trace.empty()) {
        record::Record record = start_record(request.command_line, setup);
        record::Run& run = record.runs.emplace_back();
        run.time.reason = "nothing was run: a saved trace was asked";
        run.extra.what_if = TRY(ask(what.trace, request.counting, setup, what.questions));
        run.kernel = run.extra.what_if->workload;
        record.source.kind = record::SourceKind::model;
        return record;
    }
    const Fd file = TRY(nameless_file());
    traced.counting.save_trace = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
    record::Record record = TRY(run(traced, host, topology, on_progress));
    if (!was_modelled(record)) {
        record.warnings.push_back({"what_if_unknown", "what changes would win is not known: nothing was modelled",
                                   "the other messages say why"});
        return record;
    }
    if (on_progress) on_progress({"simulating it with changes", 0, "", ProgressOf::step});
    record.runs.front().extra.what_if = TRY(ask(traced.counting.save_trace, request.counting, setup, what.questions));
    return record;
}

}  // namespace tmaprobe::experiments
