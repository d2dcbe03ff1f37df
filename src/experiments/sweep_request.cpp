// A sweep's request as part of its record, so that an interrupted sweep can go on from the record alone.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "experiments/sweep.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::array<std::pair<SourceChoice, const char*>, 5> sources{{{SourceChoice::automatic, "auto"},
                                                                       {SourceChoice::perf, "perf"},
                                                                       {SourceChoice::model, "model"},
                                                                       {SourceChoice::none, "none"},
                                                                       {SourceChoice::perf_and_model, "perf,model"}}};

}  // namespace

record::SweepPlan plan_of(const SweepRequest& request) {
    const RunRequest& run = request.run;
    record::SweepPlan plan;
    plan.kernel = run.workload.kernel;
    plan.variant = run.workload.variant;
    plan.sizes = request.sizes;
    for (const auto& pages : run.workload.pages)
        plan.pages.push_back(value_named<record::PageKind>(pages).value_or(record::PageKind::none));
    plan.threads = run.workload.threads;
    plan.cpus = run.workload.cpus;
    plan.options = run.workload.options;
    plan.level = run.counting.level;
    plan.metrics = run.counting.metrics;
    plan.events = run.counting.events;
    plan.target = run.counting.target;
    plan.assume_pages = value_named<record::PageKind>(run.counting.assume_pages).value_or(record::PageKind::none);
    plan.multiplex = run.counting.policy == counters::Policy::multiplex;
    plan.count_user = run.counting.count_user;
    plan.count_kernel = run.counting.count_kernel;
    plan.repetitions = run.repeat.repetitions;
    plan.seconds_per_point = request.seconds_per_point;
    plan.numa_node = run.workload.numa_node;
    for (const auto& [choice, name] : sources)
        if (choice == run.counting.source) plan.source = name;
    return plan;
}

Result<SweepRequest> resume_request(const record::Record& record, const machine::Host& host) {
    if (record.experiment != record::Experiment::sweep || !record.extra.sweep)
        return fail(ErrorCode::bad_input, fmt::format("this is the record of a {}, not of a sweep that can go on",
                                                      name_of(record.experiment)));
    if (record.host.cpu_id != host.cpu_id)
        return fail(ErrorCode::bad_usage,
                    fmt::format("the sweep was begun on another CPU ({}, this is {})", record.host.cpu_id, host.cpu_id),
                    "start a new one here");
    const record::SweepPlan& plan = *record.extra.sweep;
    SweepRequest request;
    RunRequest& run = request.run;
    run.workload.kernel = plan.kernel;
    run.workload.variant = plan.variant;
    request.sizes = plan.sizes;
    for (const auto pages : plan.pages) run.workload.pages.push_back(text_of(pages));
    run.workload.threads = plan.threads;
    run.workload.cpus = plan.cpus;
    run.workload.options = plan.options;
    run.counting.level = plan.level;
    run.counting.metrics = plan.metrics;
    run.counting.events = plan.events;
    run.counting.target = plan.target;
    run.counting.assume_pages = text_of(plan.assume_pages);
    run.counting.policy = plan.multiplex ? counters::Policy::multiplex : counters::Policy::passes;
    run.counting.count_user = plan.count_user;
    run.counting.count_kernel = plan.count_kernel;
    run.repeat.repetitions = plan.repetitions;
    request.seconds_per_point = plan.seconds_per_point;
    run.workload.numa_node = plan.numa_node;
    for (const auto& [choice, name] : sources)
        if (plan.source == name) run.counting.source = choice;
    if (request.sizes.empty()) return fail(ErrorCode::bad_input, "the record's extra.sweep holds no sizes");
    run.command_line = record.command_line;
    return request;
}

}  // namespace tmaprobe::experiments
