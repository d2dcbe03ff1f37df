// What a program costs this machine, by the clock, and how many instructions it executes.
//   run_program time REPETITIONS COMMAND...  for each repetition a line "user_ns system_ns clock_hz ipc overlap waited"
//   run_program count COMMAND...             instructions, as the tracer counts them (a repeated string instruction
//                                            counts once for every 32 bytes)
// The command's output goes to /dev/null. Times are the kernel's, of processor time; clock_hz is the mean of readings
// on the same CPU before, after and every 20 ms in between (a core's clock may change each millisecond); ipc and
// overlap are the worse of the canary's readings before and after (timing/canary.h); waited: share of the time that it
// did not have the CPU.

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "model/llvm/decoder.h"
#include "process/held_command.h"
#include "timing/canary.h"
#include "trace/translator.h"

namespace {

using namespace tmaprobe;

void to_nowhere(int descriptor) {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nowhere, descriptor);
    ::close(nowhere);
}

double ns_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
}

void time_once(char** command, timing::ReorderProbe& probe) {
    const auto before = timing::read_canary(&probe);
    const std::uint64_t start = process::now_ns();
    const pid_t child = ::fork();
    if (child == 0) {
        to_nowhere(STDIN_FILENO);
        to_nowhere(STDOUT_FILENO);
        ::execv(command[0], command);
        ::_exit(127);
    }
    rusage used{};
    int status = 0;
    std::vector<double> clocks{before.clock_hz};
    constexpr useconds_t between_readings = 20'000;
    for (; ::wait4(child, &status, WNOHANG, &used) == 0; clocks.push_back(timing::read_canary().clock_hz))
        ::usleep(between_readings);
    const double elapsed = static_cast<double>(process::now_ns() - start);
    const auto after = timing::read_canary(&probe);
    const double user = ns_of(used.ru_utime), system = ns_of(used.ru_stime);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        std::fprintf(stderr, "%s ended with status %d\n", command[0], status);
        std::exit(1);
    }
    clocks.push_back(after.clock_hz);
    std::printf("%.0f %.0f %.0f %.3f %.3f %.4f\n", user, system,
                std::reduce(clocks.begin(), clocks.end()) / static_cast<double>(clocks.size()),
                std::min(before.ipc, after.ipc), std::max(before.overlap, after.overlap),
                std::max(0.0, 1 - (user + system) / elapsed));
    std::fflush(stdout);
}

int time_program(int repetitions, char** command) {
    // The canary says something of the core that the program has.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    timing::ReorderProbe probe(512);
    for (int i = 0; i < repetitions; ++i) time_once(command, probe);
    return 0;
}

int count_program(const std::vector<std::string>& command) {
    auto decoder = model::core::make_decoder("x86_64");
    if (!decoder) return 1;
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    auto process = trace::TracedProcess::fork_function([&] {
        to_nowhere(STDIN_FILENO);
        to_nowhere(STDOUT_FILENO);
        ::execv(arguments[0], arguments.data());
    });
    const auto executed = process ? process->resume() : Result<trace::Stop>(tl::unexpected(process.error()));
    if (!executed || executed->why != trace::Stop::Why::event) {
        std::fprintf(stderr, "%s: %s\n", arguments[0], executed ? "cannot be executed" : executed.error().what.c_str());
        return 1;
    }
    trace::Tracer tracer(*process, **decoder, false);
    trace::Translator translator(*process, tracer);
    constexpr std::size_t at_once = 1'000'000;
    std::size_t instructions = 0;
    for (;;) {
        const auto traced = translator.steps(at_once, {});
        if (!traced) {
            std::fprintf(stderr, "%s\n", traced.error().what.c_str());
            return 1;
        }
        instructions += traced->steps;
        if (traced->ended || traced->ended_early != trace::EndedEarly::none) break;
    }
    std::printf("%zu\n", instructions);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "";
    if (what == "time" && count > 3) return time_program(std::atoi(arguments[2]), arguments + 3);
    if (what == "count" && count > 2) return count_program(std::vector<std::string>(arguments + 2, arguments + count));
    std::fprintf(stderr, "run_program time REPETITIONS COMMAND... | run_program count COMMAND...\n");
    return 2;
}
