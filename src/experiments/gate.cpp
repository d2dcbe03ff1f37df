#include "experiments/gate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/statistics.h"
#include "experiments/code_points.h"
#include "experiments/regions.h"
#include "experiments/setup.h"
#include "model/gate.h"
#include "process/held_command.h"

namespace tmaprobe::experiments {
namespace {

/// While it lives, what we start has nowhere to write to.
class NoOutput {
  public:
    NoOutput() : out_(::dup(STDOUT_FILENO)), error_(::dup(STDERR_FILENO)) {
        const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(nothing.get(), STDOUT_FILENO);
        ::dup2(nothing.get(), STDERR_FILENO);
    }
    NoOutput(const NoOutput&) = delete;
    NoOutput& operator=(const NoOutput&) = delete;
    ~NoOutput() {
        ::dup2(out_.get(), STDOUT_FILENO);
        ::dup2(error_.get(), STDERR_FILENO);
    }

  private:
    Fd out_, error_;
};

struct TimedCommand {
    double elapsed_ns = 0;
    process::CommandOutcome outcome;
};

Result<TimedCommand> time_once(const std::vector<std::string>& command) {
    process::SignalWatch signals;
    auto held = TRY(process::HeldCommand::start(command));
    const std::uint64_t start = process::now_ns();
    TRY(held.release());
    TimedCommand timed;
    timed.outcome = process::wait_for(held, signals, {});
    timed.elapsed_ns = static_cast<double>(process::now_ns() - start);
    return timed;
}

/// FNV-1a of a file's content.
std::string hash_of(const std::string& path) {
    const auto content = read_file(path);
    if (!content) return {};
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : *content) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// As a path from the current folder, for what is below it: another checkout has the same.
std::string from_here(const std::string& path) {
    std::error_code none;
    const std::string here = std::filesystem::current_path(none).string() + "/";
    return path.starts_with(here) ? path.substr(here.size()) : path;
}

/// Cycles of instructions as functions and lines.
class CostByPlace {
  public:
    CostByPlace(const model::ProgramCost& cost, std::vector<record::Warning>& warnings) {
        counters::SlotAttribution attribution;
        attribution.mappings.push_back(cost.mappings);
        const counters::AttributedWindow window;
        std::vector<std::pair<std::size_t, model::InstructionCost>> costs;
        for (const auto& [address, one] : cost.code)
            costs.emplace_back(points_.number(attribution, window, address), one);
        points_.locate(warnings);
        for (const auto& [point, one] : costs) {
            add(functions_, point, one, false);
            add(lines_, point, one, true);
        }
    }

    std::vector<record::CodeCost> functions() const { return sorted(functions_); }
    std::vector<record::CodeCost> lines() const { return sorted(lines_); }

  private:
    using Key = std::tuple<std::string, std::string, std::string, std::uint64_t>;
    using Places = std::map<Key, record::CodeCost>;

    void add(Places& places, std::size_t number, const model::InstructionCost& cost, bool by_line) {
        const CodePoint& point = points_[number];
        const auto& frames = point.located.frames;
        // What is inlined is its line's, and the function's that was called.
        const symbols::Frame frame = frames.empty() ? symbols::Frame() : by_line ? frames.front() : frames.back();
        record::CodeCost place;
        place.module = base_name(point.module);
        place.function = frame.function;
        place.file = from_here(frame.file);
        place.line = by_line ? frame.line : 0;
        if (by_line && place.line == 0) return;
        auto& known = places.try_emplace({place.module, place.function, place.file, place.line}, place).first->second;
        known.cycles += cost.cycles;
        known.instructions += cost.executions;
    }

    static std::vector<record::CodeCost> sorted(const Places& places) {
        constexpr std::size_t most = 2000;
        std::vector<record::CodeCost> costs;
        for (const auto& [key, cost] : places) costs.push_back(cost);
        std::ranges::stable_sort(costs, std::greater{}, &record::CodeCost::cycles);
        if (costs.size() > most) costs.resize(most);
        return costs;
    }

    CodePoints points_;
    Places functions_, lines_;
};

record::Estimated estimated(double value, double standard_error) {
    // 95% of a normal distribution.
    constexpr double errors_either_way = 1.96;
    const double wide = errors_either_way * standard_error;
    return {value, std::max(0.0, value - wide), value + wide};
}

record::ProgramCost recorded(const model::ProgramCost& cost, std::vector<record::Warning>& warnings) {
    record::ProgramCost record;
    record.cycles = estimated(cost.cycles, cost.standard_error);
    record.layouts = cost.layouts;
    record.instructions = static_cast<double>(cost.instructions);
    record.instructions_again = static_cast<double>(cost.instructions_again);
    record.simulated = static_cast<double>(cost.simulated_instructions);
    for (const model::RegionShare& region : cost.regions)
        record.regions.push_back({region.name, estimated(region.cycles, region.standard_error), region.instructions});
    record.windows = cost.windows;
    record.clock_reads = cost.clock_reads;
    const CostByPlace places(cost, warnings);
    record.functions = places.functions();
    record.lines = places.lines();
    // By address, and so the program comes first.
    for (const auto& mapping : cost.mappings) {
        if (mapping.inode == 0) continue;
        const std::string name = base_name(mapping.path);
        if (std::ranges::find(record.modules, name, &record::LoadedModule::name) == record.modules.end())
            record.modules.push_back({name, hash_of(mapping.path)});
    }
    return record;
}

void add_warnings(const model::ProgramCost& cost, std::vector<record::Warning>& warnings) {
    warnings.insert(warnings.end(), cost.warnings.begin(), cost.warnings.end());
    if (cost.started_others)
        warnings.push_back(
            {"gate_further_tasks",
             "it started threads or processes, whose work is not in the cost: only the first thread's is",
             "benchmark one thread"});
    if (cost.clock_reads)
        warnings.push_back({"gate_reads_clock",
                            fmt::format("it reads the clock ({} times): where its work depends on the time, its cost "
                                        "does, too",
                                        cost.clock_reads),
                            "give it a fixed number of iterations"});
}

CountingRequest counting_of(const GateRequest& request) {
    CountingRequest counting;
    counting.target = request.target;
    counting.library = request.library;
    counting.source = SourceChoice::model;
    counting.calibration.use = false;  // the cost is to be the same on every machine
    return counting;
}

}  // namespace

Result<std::string> gate_model(const GateRequest& request, const machine::Host& host,
                               const machine::Topology& topology) {
    const Setup setup = TRY(set_up(counting_of(request), host, topology));
    return model::model_stamp(request.library, *setup.table);
}

Result<record::Record> gate(const GateRequest& request, const machine::Host& host, const machine::Topology& topology,
                            const OnProgress& on_progress) {
    CountingRequest counting = counting_of(request);
    const Setup setup = TRY(set_up(counting, host, topology));
    record::Record record = start_record(request.command_line, setup);
    record.experiment = record::Experiment::gate;
    record.source = {record::SourceKind::model, request.target.empty() ? setup.table->cpu_id : request.target,
                     "cycles of all instructions of a run, from windows simulated in several layouts of memory"};
    record::Run& run = record.runs.emplace_back();
    run.kernel = "command";
    run.parameters.command = request.command;
    run.time.reason = "a gate judges by modelled cycles";
    record::Gate gate;
    gate.command = request.command;
    gate.architecture = model::instructions_shown(request.library, *setup.table, host.architecture);
    gate.model = TRY(model::model_stamp(request.library, *setup.table));
    gate.layouts = static_cast<std::uint64_t>(request.layouts);
    gate.seed = request.seed;
    gate.label = request.label;
    counting.regions = request.regions;
    counting.region_program = request.command;
    const model::RegionWish regions = TRY(region_wish(counting));
    gate.marks = regions.marks;
    gate.region_functions = request.regions.functions;

    const auto says = [&](const char* what) {
        if (on_progress) on_progress({what, 0, "", ProgressOf::step});
    };
    constexpr double enough_ns = 1e9;
    std::vector<double> times;
    double all_ns = 0;
    for (int i = 0; i < request.repetitions && all_ns < enough_ns; ++i) {
        std::optional<NoOutput> silent;
        if (i > 0) silent.emplace();
        const auto timed = TRY(time_once(request.command));
        record.extra.exit_status = timed.outcome.status;
        record.partial = timed.outcome.interrupted;
        if (timed.outcome.status != 0) return record;
        times.push_back(timed.elapsed_ns);
        all_ns += timed.elapsed_ns;
    }
    says("following it instruction by instruction");
    const auto cost = TRY(model::cost_of(
        request.command, {request.library, *setup.table, host.architecture, request.layouts, request.seed, regions}));
    if (cost.exit_status.value_or(0) != 0) {
        record.extra.exit_status = cost.exit_status;
        return record;
    }
    if (!cost.followed_to_end)
        return fail(ErrorCode::unavailable, request.command.front() + " cannot be followed to its end",
                    "programs that single-step themselves, or run code that LLVM does not know, have no cost");
    gate.cost = recorded(cost, record.warnings);
    gate.cost.measured_ns = std::move(times);
    add_warnings(cost, record.warnings);
    run.extra.gate = std::move(gate);
    return record;
}

}  // namespace tmaprobe::experiments
