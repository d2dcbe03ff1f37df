// What starting and stopping counters around nothing costs: by rdpmc, by ioctl and read(2), and through the
// control fifo that perf stat offers. On a machine without a PMU only software events can be compared.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "counters/perf/perf.h"
#include "counters/perf/region.h"

namespace {

using namespace tmaprobe;

struct Nothing final : counters::Workload {
    void run(std::uint64_t) override {}
};

counters::Pass software(int events) {
    counters::EventGroup group{"software", {}};
    for (int index = 0; index < events; ++index) {
        counters::PlannedEvent event{"page-faults", {}, false};
        event.definition.pmu = "software";
        event.definition.config = 2;
        group.events.push_back(event);
    }
    return {{group}};
}

/// Cycles and instructions of the first core PMU: empty where there is none.
counters::Pass hardware(int events) {
    const auto limits = counters::perf::probe_limits();
    if (limits.empty()) return {};
    counters::EventGroup group{limits.front().pmu, {}};
    for (int index = 0; index < events; ++index) {
        counters::PlannedEvent event{"branches", {}, false};
        event.definition.pmu = limits.front().pmu;
        event.definition.config = 0xc4;
        group.events.push_back(event);
    }
    return {{group}};
}

void measure_pairs(benchmark::State& state, const counters::Pass& pass, bool user_space_reads) {
    if (pass.groups.empty()) {
        state.SkipWithError("no PMU here");
        return;
    }
    auto region = counters::perf::Region::open(pass, {}, true, false, user_space_reads);
    if (!region) {
        state.SkipWithError(region.error().what.c_str());
        return;
    }
    Nothing nothing;
    for (auto _ : state) benchmark::DoNotOptimize(region->measure(nothing, 1));
    state.SetLabel(region->method());
}

void SoftwareEvents(benchmark::State& state) { measure_pairs(state, software(static_cast<int>(state.range(0))), true); }
BENCHMARK(SoftwareEvents)->Arg(1)->Arg(4);

void HardwareEventsByRdpmc(benchmark::State& state) {
    measure_pairs(state, hardware(static_cast<int>(state.range(0))), true);
}
BENCHMARK(HardwareEventsByRdpmc)->Arg(1)->Arg(4);

void HardwareEventsByRead(benchmark::State& state) {
    measure_pairs(state, hardware(static_cast<int>(state.range(0))), false);
}
BENCHMARK(HardwareEventsByRead)->Arg(1)->Arg(4);

/// A running `perf stat` that is switched on and off through its control fifo, as a script would.
class PerfStat {
  public:
    PerfStat() {
        folder_ = std::filesystem::temp_directory_path() / ("tmaprobe_fifo_" + std::to_string(::getpid()));
        std::filesystem::create_directory(folder_);
        control_ = folder_ / "control";
        answer_ = folder_ / "answer";
        if (::mkfifo(control_.c_str(), 0600) != 0 || ::mkfifo(answer_.c_str(), 0600) != 0) return;
        process_ = ::fork();
        if (process_ == 0) {
            ::setpgid(0, 0);  // perf's own command ends with it
            const std::string fifos = "--control=fifo:" + control_.string() + "," + answer_.string();
            const int null = ::open("/dev/null", O_WRONLY);
            ::dup2(null, 2);
            ::execlp("perf", "perf", "stat", "-D", "-1", "-e", "page-faults,page-faults,page-faults,page-faults",
                     fifos.c_str(), "--", "sleep", "600", nullptr);
            ::_exit(127);
        }
        to_ = ::open(control_.c_str(), O_RDWR);
        from_ = ::open(answer_.c_str(), O_RDWR | O_NONBLOCK);
    }
    ~PerfStat() {
        if (process_ > 0) {
            ::kill(-process_, SIGKILL);
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        if (to_ >= 0) ::close(to_);
        if (from_ >= 0) ::close(from_);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// Sends "enable" or "disable" and waits for perf's acknowledgement.
    bool say(const char* word) {
        const std::string line = std::string(word) + "\n";
        if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
        char answer[16];
        for (int attempt = 0; attempt < 2'000'000; ++attempt) {
            if (::read(from_, answer, sizeof answer) > 0) return true;
            if (::waitpid(process_, nullptr, WNOHANG) != 0) return false;
        }
        return false;
    }

  private:
    std::filesystem::path folder_, control_, answer_;
    pid_t process_ = -1;
    int to_ = -1, from_ = -1;
};

void PerfStatControlFifo(benchmark::State& state) {
    PerfStat perf;
    if (!perf.say("enable") || !perf.say("disable")) {
        state.SkipWithError("perf stat --control does not answer (perf is missing, or older than 5.10)");
        return;
    }
    for (auto _ : state)
        if (!perf.say("enable") || !perf.say("disable")) state.SkipWithError("perf stat ended");
}
BENCHMARK(PerfStatControlFifo)->UseRealTime();

}  // namespace
