#include "experiments/neighbour.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/file.h"
#include "base/suggest.h"
#include "experiments/interference.h"
#include "experiments/measure.h"
#include "machine/topology.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::string_view command_prefix = "cmd:";

/// Where a neighbour may sit: everywhere but on the victim's own CPU.
std::vector<std::string> places() {
    std::vector<std::string> names;
    for (const auto& [shared, name] : Names<machine::Shared>::values)
        if (shared != machine::Shared::cpu) names.emplace_back(name);
    return names;
}

/// CPUs for the neighbour as seen from the victim, best first: the class that was asked for, and for
/// "l3" also what shares more than the L3 when there is nothing else.
std::vector<int> cpus_at(const machine::Topology& topology, int victim_cpu, machine::Shared place) {
    std::vector<int> found, nearer;
    for (const auto& candidate : topology.cpus) {
        if (!candidate.allowed || candidate.cpu == victim_cpu) continue;
        using machine::Shared;
        const Shared shared = machine::pair_class(topology, victim_cpu, candidate.cpu).shared;
        if (shared == place) found.push_back(candidate.cpu);
        if (place == Shared::l3 && (shared == Shared::l2 || shared == Shared::core)) nearer.push_back(candidate.cpu);
    }
    return found.empty() ? nearer : found;
}

Result<> fill_in_kernel(Subject& subject, const kernels::Spec& spec) {
    auto& request = subject.request.workload;
    request.kernel = spec.kernel->name;
    request.command.clear();
    request.variant = spec.variant;
    request.size_bytes = spec.parameters.size_bytes;
    request.threads = std::max<int>(spec.threads, static_cast<int>(spec.parameters.cpus.size()));
    request.cpus = spec.parameters.cpus;
    request.numa_node = spec.parameters.numa_node;
    request.options = spec.parameters.options;
    request.pages = {spec.parameters.pages.name.empty() ? "4k" : spec.parameters.pages.name};
    subject.request.counting.scope.kind = counters::Scope::Kind::this_thread;
    return {};
}

/// The spec as a request: a kernel, or a command line for the shell.
Result<> read_spec(Subject& subject, const std::string& text, const char* whose) {
    if (text.starts_with(command_prefix)) {
        const std::string line = text.substr(command_prefix.size());
        if (line.find_first_not_of(' ') == std::string::npos)
            return fail(ErrorCode::bad_usage, fmt::format("{}: no command after cmd:", whose));
        subject.request.workload.kernel.clear();
        subject.request.workload.command = {"/bin/sh", "-c", line};
        subject.request.counting.scope.kind = counters::Scope::Kind::command;
        return {};
    }
    const auto spec = kernels::parse_spec(text);
    if (!spec) {
        Error error = spec.error();
        error.what = fmt::format("{}: {}", whose, error.what);
        if (error.hint.empty()) error.hint = "a command is written cmd:./program args";
        return tl::unexpected<Error>(error);
    }
    return fill_in_kernel(subject, *spec);
}

/// The point of a kernel, with its page mode.
Result<> place_kernel(Subject& subject) {
    auto point = TRY(choose_kernel_run(subject.request.workload, subject.setup));
    const auto mode = TRY(memory::parse_page_mode(subject.request.workload.pages.front()));
    point.parameters.pages = mode;
    subject.point = std::move(point);
    return {};
}

Result<> place_aggressor(Subject& aggressor, const Subject& victim, const machine::Topology& topology,
                         const std::string& place) {
    const auto shared = value_named<machine::Shared>(place);
    if (!shared || *shared == machine::Shared::cpu)
        return fail(ErrorCode::bad_usage, fmt::format("no place is called '{}'", place), suggest(place, places()));
    const std::vector<int> taken = victim.point ? victim.point->parameters.cpus : std::vector<int>{victim.cpu};
    auto& cpus = aggressor.request.workload.cpus;
    if (cpus.empty()) {
        cpus = cpus_at(topology, taken.front(), *shared);
        std::erase_if(cpus, [&](int cpu) { return std::find(taken.begin(), taken.end(), cpu) != taken.end(); });
    }
    for (const int cpu : cpus)
        if (std::find(taken.begin(), taken.end(), cpu) != taken.end())
            return fail(ErrorCode::bad_usage, fmt::format("victim and neighbour are both on CPU {}", cpu),
                        "they would take turns, not disturb each other: give them CPUs of their own");
    const auto wanted = static_cast<std::size_t>(aggressor.request.workload.threads);
    if (cpus.size() < wanted)
        return fail(ErrorCode::unavailable,
                    topology.cpus.size() < 2
                        ? std::string("this machine has one CPU: there is no place for a neighbour")
                        : fmt::format("{} CPU(s) stand at '{}' beside CPU {}, and the neighbour wants {}", cpus.size(),
                                      place, taken.front(), wanted),
                    "--place smt, l2, l3, package or numa; or cpus= in the aggressor's spec");
    cpus.resize(wanted);
    aggressor.cpu = cpus.front();
    aggressor.place = name_of(machine::pair_class(topology, taken.front(), cpus.front()));
    return {};
}

/// In a process of its own: what a command prints is not our result.
void silence_output() {
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nowhere) ::dup2(nowhere.get(), STDOUT_FILENO);
}

/// A victim that fails is not a shorter measurement.
Result<> check_exit(const MeasuredRun& measured, const std::string& spec) {
    const int status = measured.exit_status.value_or(0);
    if (status == 0) return {};
    constexpr int shell_found_none = 127;
    return fail(ErrorCode::unavailable, fmt::format("the victim failed with exit status {}: {}", status, spec),
                status == shell_found_none ? "the shell found no such command" : "take a victim that succeeds");
}

/// In the neighbour's process: work until killed. Says "r" once the memory is there and warm, or why not.
void disturb(const Subject& aggressor, int output) {
    const auto say = [&](const std::string& text) { static_cast<void>(write_descriptor(output, text, "pipe")); };
    if (const auto pinned = machine::pin_this_thread(aggressor.cpu); !pinned) return say(pinned.error().what);
    if (!aggressor.point) {
        silence_output();
        say("r");
        std::vector<char*> argv;
        for (const auto& word : aggressor.request.workload.command) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        ::execv(argv[0], argv.data());
        return;
    }
    auto kernel = aggressor.point->kernel->make(aggressor.point->variant.name, aggressor.point->parameters);
    if (!kernel) return say(kernel.error().what);
    (*kernel)->run(1);
    say("r");
    for (;;) (*kernel)->run(1);
}

}  // namespace

Result<record::Record> Subject::measure(bool beside_neighbour) const {
    using record::DisturbanceCause;
    timing::TimingRequest timing;
    if (beside_neighbour)
        timing.expected = {DisturbanceCause::issue_slots_shared, DisturbanceCause::reorder_buffer_halved,
                           DisturbanceCause::clock_changed};
    timing.repetitions = 5;
    timing.repetition_ns = seconds * 1e9 / (timing.repetitions + 2);
    if (!point) {
        TRY(machine::pin_this_thread(cpu));
        silence_output();
    }
    auto measured = TRY(point ? measure_kernel(request.counting, request.repeat, setup, *point, timing, {})
                              : measure_command(request, setup, {}));
    TRY(check_exit(measured, spec));
    record::Record record;
    record.source = measured.source;
    record.runs.push_back(std::move(measured.run));
    return record;
}

Result<Subjects> choose_subjects(const InterferenceRequest& request, const machine::Host& host,
                                 const machine::Topology& topology) {
    Subject victim{request.run, {}, {}, 0, "", request.seconds, request.victim};
    Subject aggressor = victim;
    aggressor.spec = request.aggressor;
    TRY(read_spec(victim, request.victim, "--victim"));
    TRY(read_spec(aggressor, request.aggressor, "--aggressor"));
    auto setup = TRY(set_up(victim.request.counting, host, topology));
    // A model sees one core alone: what a neighbour does to it can only be counted, or timed.
    if (setup.decision.only_models()) setup.decision.sources = {SourceChoice::none};
    victim.setup = aggressor.setup = setup;

    if (victim.request.workload.kernel.empty())
        victim.cpu = victim.request.workload.cpus.empty() ? machine::default_cpu(topology)
                                                          : victim.request.workload.cpus.front();
    else if (const auto placed = place_kernel(victim); !placed)
        return pass_on(placed);
    if (!request.allocations.empty()) return Subjects{std::move(victim), std::move(aggressor), std::move(setup)};
    TRY(place_aggressor(aggressor, victim, topology, request.place));
    if (!aggressor.request.workload.kernel.empty()) TRY(place_kernel(aggressor));
    return Subjects{std::move(victim), std::move(aggressor), std::move(setup)};
}

Result<Neighbour> Neighbour::start(const Subject& aggressor, const std::function<Result<>(pid_t)>& into_group) {
    auto child = TRY(process::Child::start([&](int output) { disturb(aggressor, output); }));
    TRY(into_group(child.pid()));
    child.release();
    char text[512];
    const ssize_t got = ::read(child.output(), text, sizeof text);
    if (got == 1 && text[0] == 'r') {
        // A command has only been started: let it come to its work.
        if (!aggressor.point) ::usleep(100'000);
        Neighbour neighbour(std::move(child));
        TRY(neighbour.check());
        return neighbour;
    }
    return fail(ErrorCode::unavailable,
                "the neighbour could not start: " +
                    (got > 0 ? std::string(text, static_cast<std::size_t>(got)) : std::string("it died at once")));
}

Result<> Neighbour::check() {
    if (child_.alive()) return {};
    return fail(ErrorCode::unavailable,
                "the neighbour ended by itself (" + child_.how() + ") before the victim was measured",
                "take an aggressor that runs until it is stopped");
}

}  // namespace tmaprobe::experiments
