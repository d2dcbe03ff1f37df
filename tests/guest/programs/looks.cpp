// Looks at itself as `where` looks at a program, for machines where the tool has no model: the measured shares of
// often() and seldom() (shares.c), as the tool's record has them.
//
//     looks TURNS
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "base/statistics.h"
#include "counters/perf/time_profile.h"

extern "C" {
int program_that_is_looked_at(int argc, char** argv);  // main() there
unsigned often(unsigned work);
unsigned seldom(unsigned work);
}

int main(int argc, char** argv) {
    using tmaprobe::counters::perf::LooksBy, tmaprobe::counters::perf::TimeProfile;
    constexpr int parts = 20;
    const std::string turns = std::to_string(argc > 1 ? std::atoi(argv[1]) / parts : 500);
    std::string name = "shares", count = turns;
    char* arguments[] = {name.data(), count.data(), nullptr};
    TimeProfile profile;
    profile.add(::getpid(), ::getpid());
    int work = 0;
    for (int part = 0; part < parts; ++part) {
        work += program_that_is_looked_at(2, arguments);
        profile.read();
    }
    const std::map<std::uint64_t, std::string> functions{{reinterpret_cast<std::uint64_t>(&often), "often"},
                                                         {reinterpret_cast<std::uint64_t>(&seldom), "seldom"}};
    std::map<std::string, double> met;
    double all = 0;
    for (const auto& [process, looks] : profile.looks())
        for (const auto& [address, times] : looks) {
            constexpr std::uint64_t longest_function = 64;
            const auto after = functions.upper_bound(address);
            const bool known = after != functions.begin() && address - std::prev(after)->first < longest_function;
            met[known ? std::prev(after)->second : "elsewhere"] += static_cast<double>(times);
            all += static_cast<double>(times);
        }
    std::printf(R"({"runs": [{"extra": {"where": {"samples": {"event": "%s", "precision": %u, "taken": %llu}, )",
                profile.by() == LooksBy::cycles ? "cycles" : "task-clock", profile.precision(),
                static_cast<unsigned long long>(profile.taken()));
    std::printf(R"("functions": [)");
    const char* comma = "";
    for (const auto& [function, times] : met) {
        const auto bounds = tmaprobe::proportion_interval(times / all, all / profile.weight_of_a_look());
        std::printf(R"(%s{"function": "%s", "measured": {"share": %f, "low": %f, "high": %f}})", comma,
                    function.c_str(), times / all, bounds.low, bounds.high);
        comma = ", ";
    }
    std::printf("]}}}]}\n");
    return work != 0;
}
