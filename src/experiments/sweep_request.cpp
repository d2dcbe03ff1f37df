// A sweep's request as part of its record, so that an interrupted sweep can go on from the record alone.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "experiments/sweep.h"

namespace tmaprobe::experiments {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<SourceChoice, const char*>, 5> sources{{{SourceChoice::automatic, "auto"},
                                                                       {SourceChoice::perf, "perf"},
                                                                       {SourceChoice::model, "model"},
                                                                       {SourceChoice::none, "none"},
                                                                       {SourceChoice::perf_and_model, "perf,model"}}};

}  // namespace

json sweep_json(const SweepRequest& request) {
    const RunRequest& run = request.run;
    json object = {{"kernel", run.kernel},
                   {"variant", run.variant},
                   {"sizes", request.sizes},
                   {"pages", run.pages},
                   {"threads", run.threads},
                   {"cpus", run.cpus},
                   {"options", run.options},
                   {"level", run.level},
                   {"metrics", run.metrics},
                   {"events", run.events},
                   {"target", run.target},
                   {"assume_pages", run.assume_pages},
                   {"multiplex", run.policy == counters::Policy::multiplex},
                   {"count_user", run.count_user},
                   {"count_kernel", run.count_kernel},
                   {"repetitions", run.repetitions},
                   {"seconds_per_point", request.seconds_per_point}};
    object["numa_node"] = run.numa_node ? json(*run.numa_node) : json(nullptr);
    for (const auto& [choice, name] : sources)
        if (choice == run.source) object["source"] = name;
    return object;
}

Result<SweepRequest> resume_request(const record::Record& record, const machine::Host& host) {
    if (record.experiment != "sweep" || !record.extra.contains("sweep"))
        return fail(ErrorCode::bad_input, fmt::format("this is the record of a {}, not of a sweep that can go on", record.experiment));
    const std::string cpu_id = record.host.is_object() ? record.host.value("cpu_id", std::string()) : std::string();
    if (cpu_id != host.cpu_id)
        return fail(ErrorCode::bad_usage, fmt::format("the sweep was begun on another CPU ({}, this is {})", cpu_id, host.cpu_id), "start a new one here");
    SweepRequest request;
    RunRequest& run = request.run;
    // The library throws on a missing key or a wrong type; nothing of that leaves this function.
    try {
        const json& object = record.extra.at("sweep");
        object.at("kernel").get_to(run.kernel);
        object.at("variant").get_to(run.variant);
        object.at("sizes").get_to(request.sizes);
        object.at("pages").get_to(run.pages);
        object.at("threads").get_to(run.threads);
        object.at("cpus").get_to(run.cpus);
        object.at("options").get_to(run.options);
        object.at("level").get_to(run.level);
        object.at("metrics").get_to(run.metrics);
        object.at("events").get_to(run.events);
        object.at("target").get_to(run.target);
        object.at("assume_pages").get_to(run.assume_pages);
        object.at("count_user").get_to(run.count_user);
        object.at("count_kernel").get_to(run.count_kernel);
        object.at("repetitions").get_to(run.repetitions);
        object.at("seconds_per_point").get_to(request.seconds_per_point);
        run.policy = object.at("multiplex").get<bool>() ? counters::Policy::multiplex : counters::Policy::passes;
        if (!object.at("numa_node").is_null()) run.numa_node = object.at("numa_node").get<int>();
        const auto source = object.at("source").get<std::string>();
        for (const auto& [choice, name] : sources)
            if (source == name) run.source = choice;
    } catch (const json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("the record's extra.sweep is damaged: {}", error.what()));
    }
    if (request.sizes.empty()) return fail(ErrorCode::bad_input, "the record's extra.sweep holds no sizes");
    run.command_line = record.command_line;
    return request;
}

}  // namespace tmaprobe::experiments
