#include "timing/canary.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/statistics.h"

namespace tmaprobe::timing {
namespace {

constexpr int pairs = 6;
constexpr std::uint64_t trial_turns = 4096;  // about 90 us at 3 GHz
constexpr int adds_per_turn = 64;

// Register operands throughout: some cores fold chains of additions with constants at rename.
#if defined(__x86_64__)
#define TMAPROBE_ADD(to) "add %[one], %[" to "]\n"
#define TMAPROBE_AGAIN "dec %[count]\n jnz 1b\n"
#elif defined(__aarch64__)
#define TMAPROBE_ADD(to) "add %[" to "], %[" to "], %[one]\n"
#define TMAPROBE_AGAIN "subs %[count], %[count], #1\n b.ne 1b\n"
#else
#error "the canary's loops are written for x86-64 and AArch64"
#endif
#define TMAPROBE_FOUR_TIMES(text) text text text text
/// A loop of 64 additions a turn, four at a time to the registers named.
#define TMAPROBE_ADDITIONS(name, first, second, third, fourth)                                                 \
    void name(std::uint64_t count) {                                                                           \
        std::uint64_t a = 0, b = 0, c = 0, d = 0, one = 1;                                                     \
        asm volatile("1:\n" TMAPROBE_FOUR_TIMES(TMAPROBE_FOUR_TIMES(                                           \
            TMAPROBE_ADD(first) TMAPROBE_ADD(second) TMAPROBE_ADD(third) TMAPROBE_ADD(fourth))) TMAPROBE_AGAIN \
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [count] "+r"(count)                 \
                     : [one] "r"(one)                                                                          \
                     : "cc");                                                                                  \
    }
TMAPROBE_ADDITIONS(dependent_adds, "a", "a", "a", "a")
TMAPROBE_ADDITIONS(independent_adds, "a", "b", "c", "d")
#undef TMAPROBE_ADDITIONS
#undef TMAPROBE_FOUR_TIMES
#undef TMAPROBE_AGAIN
#undef TMAPROBE_ADD

double now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

double time_ns(void (*adds)(std::uint64_t)) {
    const double begin = now_ns();
    adds(trial_turns);
    return std::max(1.0, now_ns() - begin);
}

/// Field 8 of the CPU's line counts ticks that the hypervisor gave to others.
std::uint64_t steal_ns_of(int cpu) {
    std::ifstream file("/proc/stat");
    const std::string wanted = fmt::format("cpu{}", cpu);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string name;
        fields >> name;
        if (name.compare(0, 3, "cpu") != 0) return 0;
        if (name != wanted) continue;
        std::uint64_t ticks = 0;
        for (int field = 1; field <= 8; ++field)
            if (!(fields >> ticks)) return 0;
        return ticks * (1'000'000'000ULL / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
    }
    return 0;
}

/// A thread's times since its start. 0 on kernels without schedstat.
struct Scheduled {
    std::uint64_t ran_ns = 0, waited_ns = 0;
};

Scheduled scheduled(const std::string& schedstat = "/proc/thread-self/schedstat") {
    std::istringstream fields(read_line(schedstat));
    Scheduled times;
    fields >> times.ran_ns >> times.waited_ns;
    return times;
}

/// Holds the readings between two calls of a bracket.
class Canary {
  public:
    Canary(std::function<CanaryReading()> read, std::function<double()> now, CanaryLimits limits)
        : read_(std::move(read)), now_(std::move(now)), limits_(limits) {}

    void before() {
        constexpr double still_fresh_ns = 200e3;
        if (!last_ || now_() - last_at_ > still_fresh_ns) take();
    }

    Conditions after() {
        if (!last_) return {};
        const CanaryReading before = *last_;
        const double elapsed = now_() - last_at_;
        take();
        return judge(before, *last_, elapsed, best_ipc_, limits_);
    }

  private:
    void take() {
        last_ = read_();
        last_at_ = now_();
        best_ipc_ = std::max(best_ipc_, last_->ipc);
    }

    std::function<CanaryReading()> read_;
    std::function<double()> now_;
    CanaryLimits limits_;
    std::optional<CanaryReading> last_;
    double last_at_ = 0, best_ipc_ = 0;
};

}  // namespace

CanaryReading read_canary(ReorderProbe* probe) {
    std::vector<double> clocks, rates;
    for (int pair = 0; pair < pairs; ++pair) {
        const double alone = time_ns(dependent_adds), wide = time_ns(independent_adds);
        clocks.push_back(trial_turns * adds_per_turn / alone * 1e9);
        rates.push_back(trial_turns * adds_per_turn / wide * 1e9);
    }
    CanaryReading reading;
    // Not the fastest: hypervisors take a few microseconds thousands of times a second, from programs as from a chain.
    reading.clock_hz = median(clocks);
    reading.ipc = median(rates) / reading.clock_hz;
    reading.steal_ns = steal_ns_of(sched_getcpu());
    if (probe) reading.overlap = probe->read();
    reading.wait_ns = scheduled().waited_ns;
    return reading;
}

CanaryLimits canary_limits(const machine::Host& host) {
    CanaryLimits limits;
    const bool four_adders = machine::has_feature(host, "avx2") && host.cpu_id.rfind("AuthenticAMD-21-", 0) != 0;
    if (four_adders) limits.expected_ipc = 3.9;
    return limits;
}

Conditions judge(const CanaryReading& before, const CanaryReading& after, double elapsed_ns, double best_ipc,
                 const CanaryLimits& limits) {
    using record::DisturbanceCause;
    Conditions result;
    result.clock_hz = (before.clock_hz + after.clock_hz) / 2;
    result.waited_ns = after.wait_ns > before.wait_ns ? static_cast<double>(after.wait_ns - before.wait_ns) : 0;
    const auto disturbed = [&](DisturbanceCause cause, double size) {
        result.disturbance = record::Disturbance{cause, size};
        return result;
    };
    const double elapsed = std::max(1.0, elapsed_ns);
    if (after.steal_ns > before.steal_ns)
        return disturbed(DisturbanceCause::stolen,
                         std::min(1.0, static_cast<double>(after.steal_ns - before.steal_ns) / elapsed));
    if (result.waited_ns > limits.waited_share * elapsed)
        return disturbed(DisturbanceCause::waited_for_cpu, std::min(1.0, result.waited_ns / elapsed));
    const double ipc = std::min(before.ipc, after.ipc);
    const double expected = std::max(limits.expected_ipc, best_ipc);
    if (ipc < limits.least_share * expected) return disturbed(DisturbanceCause::issue_slots_shared, 1 - ipc / expected);
    const double overlap = std::max(before.overlap, after.overlap);
    if (overlap > halved_above) return disturbed(DisturbanceCause::reorder_buffer_halved, 0.5);
    const double change = before.clock_hz > 0 ? after.clock_hz / before.clock_hz - 1 : 0;
    if (change > limits.clock_change || change < -limits.clock_change)
        return disturbed(DisturbanceCause::clock_changed, change);
    return result;
}

Bracket canary_bracket(const machine::Host& host) {
    if (host.is_emulated) return {};
    const auto probe = std::make_shared<ReorderProbe>(host.reorder_buffer);
    return canary_bracket([probe] { return read_canary(probe.get()); }, now_ns, canary_limits(host));
}

Bracket watch_threads(Bracket inner, const std::vector<pid_t>& threads, const std::vector<int>& cpus,
                      const CanaryLimits& limits) {
    if (threads.empty()) return inner;
    struct Seen {
        std::vector<Scheduled> threads;
        std::uint64_t stolen = 0;
        double at = 0;
    };
    const auto look = [threads, cpus] {
        Seen seen{{}, 0, now_ns()};
        for (const int cpu : cpus) seen.stolen += steal_ns_of(cpu);
        for (const pid_t thread : threads)
            seen.threads.push_back(scheduled(fmt::format("/proc/self/task/{}/schedstat", thread)));
        return seen;
    };
    const auto before = std::make_shared<Seen>();
    Bracket outer;
    outer.before = [inner, before, look] {
        if (inner.before) inner.before();
        *before = look();
    };
    outer.after = [inner, before, look, limits] {
        const Seen now = look();
        Conditions result = inner.after ? inner.after() : Conditions{};
        const double elapsed = std::max(1.0, now.at - before->at);
        if (result.clean() && now.stolen > before->stolen)
            result.disturbance =
                record::Disturbance{record::DisturbanceCause::stolen,
                                    std::min(1.0, static_cast<double>(now.stolen - before->stolen) / elapsed)};
        for (std::size_t index = 0; index < now.threads.size() && result.clean(); ++index) {
            const auto& [ran, waited] = now.threads[index];
            const auto lost = static_cast<double>(waited - std::min(waited, before->threads[index].waited_ns));
            const auto used = static_cast<double>(ran - std::min(ran, before->threads[index].ran_ns));
            if (lost > limits.waited_share * elapsed)
                result.disturbance =
                    record::Disturbance{record::DisturbanceCause::partner_waited, lost / (lost + used)};
        }
        return result;
    };
    return outer;
}

Bracket canary_bracket(std::function<CanaryReading()> read, std::function<double()> now, const CanaryLimits& limits) {
    const auto canary = std::make_shared<Canary>(std::move(read), std::move(now), limits);
    return {[canary] { canary->before(); }, [canary] { return canary->after(); }};
}

}  // namespace tmaprobe::timing
