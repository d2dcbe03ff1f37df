#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/json/writer.h"
#include "base/sizes.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "events/geometry.h"
#include "experiments/cache_share.h"
#include "experiments/checks.h"
#include "experiments/memory_here.h"
#include "machine/host.h"
#include "machine/topology.h"

namespace tmaprobe::cli {
namespace {

using experiments::Check;

struct Options {
    std::string json;  ///< file, or "-"
    bool problems_only = false, quick = false;
};

std::string doctor_json(const machine::Host& host, const std::vector<Check>& checks, bool can_count) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object();
    writer.member("schema", "tmaprobe.doctor/1");
    writer.key("host");
    writer.begin_object();
    writer.member("cpu_id", host.cpu_id);
    writer.member("cpu_model", host.cpu_model);
    writer.member("kernel", host.kernel);
    writer.member("hypervisor", host.hypervisor);
    writer.end_object();
    writer.member("counts_hardware", can_count);
    writer.key("checks");
    writer.begin_array();
    for (const auto& check : checks) {
        writer.begin_object();
        writer.member("id", check.id);
        writer.member("state", experiments::state_name(check.state));
        writer.member("what", check.what);
        writer.member("hint", check.hint);
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    return writer.take();
}

const char* mark_of(Check::State state) {
    switch (state) {
        case Check::State::ok:
            return "ok     ";
        case Check::State::note:
            return "note   ";
        case Check::State::warning:
            return "warning";
        case Check::State::blocks:
            return "BLOCKS ";
    }
    return "";
}

std::string doctor_text(const machine::Host& host, const std::vector<Check>& checks, bool can_count,
                        bool problems_only) {
    std::string text = fmt::format("{} ({}), Linux {}{}\n\n", host.cpu_model, host.cpu_id, host.kernel,
                                   host.hypervisor.empty() ? "" : ", on " + host.hypervisor);
    for (const auto& check : checks) {
        if (problems_only && check.state == Check::State::ok) continue;
        text += fmt::format("{}  {}\n", mark_of(check.state), check.what);
        if (!check.hint.empty()) text += fmt::format("         -> {}\n", check.hint);
    }
    text += can_count ? "\nHardware counters can be measured here.\n"
                      : "\nHardware counters cannot be measured here; what BLOCKS says why.\n";
    return text;
}

/// What a virtual machine was found to hold of its last level, which may be a small part of what CPUID shows; nothing
/// where it is none, or it could not be told.
std::optional<Check> virtual_cache_check(const machine::Host& host) {
    const machine::Cache* const shown = experiments::last_level(host);
    if (host.hypervisor.empty() || host.is_emulated || !shown) return std::nullopt;
    const auto held =
        experiments::memory_here(events::complete_geometry(host, {}), [] { return false; }).third_level.held_bytes;
    if (held == 0) return std::nullopt;
    const std::string text = fmt::format(
        "of a last-level cache that shows as {}, this virtual machine holds {} MiB, with the second level, as measured "
        "within the last hour",
        format_size(shown->size_bytes), held / mib);
    if (held >= shown->size_bytes / 2) return Check{Check::State::ok, "cache_share", text, ""};
    return Check{Check::State::warning, "cache_share", text,
                 "the host gives part of it, and neighbours evict some: the model takes what was found"};
}

/// How much of the last-level cache is really ours, measured: in a VM neighbours evict what we load.
Check cache_check(const machine::Host& host) {
    if (auto found = virtual_cache_check(host)) return std::move(*found);
    const auto share = experiments::measure_cache_share(host, machine::default_cpu(machine::detect_topology()));
    if (!share)
        return {Check::State::note,
                "cache_share",
                "the share of the last-level cache is not known: " + share.error().what,
                {}};
    const bool all = share->effective_bytes >= share->cache_bytes / 2;
    return {all ? Check::State::ok : Check::State::warning, "cache_share", experiments::describe(*share),
            all ? ""
                : "neighbours evict the rest: knees come earlier than the cache size says; tmaprobe sweep shows where"};
}

int examine(const Options& options) {
    const auto host = machine::detect();
    auto checks = experiments::check_all(host);
    if (!options.quick) checks.push_back(cache_check(host));
    const bool can_count =
        std::none_of(checks.begin(), checks.end(), [](const auto& c) { return c.state == Check::State::blocks; });

    int written = 0;
    if (options.json.empty()) {
        written = print(doctor_text(host, checks, can_count, options.problems_only));
    } else {
        const std::string text = doctor_json(host, checks, can_count);
        if (options.json == "-")
            written = print(text);
        else if (const auto saved = write_file(options.json, text); !saved)
            written = complain(saved.error());
    }
    return written ? written : can_count ? 0 : 1;
}

}  // namespace

void add_doctor_command(CommandLine app, int& status) {
    CommandLine command = app.add_subcommand("doctor", "Why are there no counters here, and what to do about it");
    const auto options = std::make_shared<Options>();
    const Option json = command.add_option("--json", options->json, "the checklist as JSON, to a file or to stdout (-)")
                            .expected(0, 1)
                            .type_name("[FILE]");
    command.add_flag("--problems", options->problems_only, "leave out what is all right");
    command.add_flag("--quick", options->quick,
                     "leave out what takes a second to measure (the share of the last-level cache)");
    command.example("tmaprobe doctor --problems", "what keeps this machine from counting, and what to do about it");
    command.footer("Exit status: 0 when hardware counters can be measured, 1 when they cannot.");
    command.callback([options, json, &status] {
        if (json.count() > 0 && options->json.empty()) options->json = "-";
        status = examine(*options);
    });
}

}  // namespace tmaprobe::cli
