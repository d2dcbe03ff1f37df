// Takes snapshots of everything that descends from a command, one after the other and of each thread, some hundred
// times as often as tmaprobe does: what a snapshot does to a program once in a thousand times is found in minutes.
//     hammer [-o FILE] [--json FILE] [...] -- COMMAND
// Takes tmaprobe's options and heeds only those two; FILE of --json gets how many snapshots were taken, as windows.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "process/held_command.h"
#include "process/running_threads.h"
#include "trace/snapshot.h"

namespace {

using tmaprobe::trace::Snapshot;

struct Options {
    std::string report, record;
    std::vector<std::string> command;
};

Options parsed(int argc, char** argv) {
    Options options;
    int at = 1;
    for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
        const std::string_view word = argv[at];
        if (at + 1 < argc && word == "-o")
            options.report = argv[++at];
        else if (at + 1 < argc && word == "--json")
            options.record = argv[++at];
    }
    for (++at; at < argc; ++at) options.command.push_back(argv[at]);
    return options;
}

std::vector<pid_t> numbers_in(const std::string& folder) {
    std::vector<pid_t> numbers;
    DIR* const list = ::opendir(folder.c_str());
    if (!list) return numbers;
    while (const dirent* entry = ::readdir(list))
        if (const int number = std::atoi(entry->d_name); number > 0) numbers.push_back(number);
    ::closedir(list);
    return numbers;
}

std::vector<pid_t> threads_of(pid_t process) { return numbers_in("/proc/" + std::to_string(process) + "/task"); }

void add_descendants(pid_t process, std::vector<pid_t>& found) {
    for (const pid_t thread : threads_of(process)) {
        std::ifstream children("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/children");
        for (pid_t child = 0; children >> child;) {
            found.push_back(child);
            add_descendants(child, found);
        }
    }
}

struct Counts {
    long long taken = 0, longest_us = 0;
    std::map<std::string, long long> missed;
};

void count(const tmaprobe::trace::SnapshotAttempt& attempt, Counts& counts) {
    counts.longest_us = std::max<long long>(counts.longest_us, static_cast<long long>(attempt.pause_ns / 1000));
    if (attempt.snapshot)
        ++counts.taken;
    else
        ++counts.missed[std::string(name_of(attempt.missed)) + (attempt.why.empty() ? "" : ": " + attempt.why)];
}

void write_results(const Options& options, const Counts& counts) {
    if (!options.report.empty()) {
        std::ofstream report(options.report);
        report << counts.taken << " snapshots, longest pause " << counts.longest_us << " us\n";
        for (const auto& [why, often] : counts.missed) report << often << " missed: " << why << "\n";
    }
    if (options.record.empty()) return;
    std::ofstream record(options.record);
    record << "{\"runs\": [{\"model\": {\"windows\": [0";
    for (long long i = 1; i < counts.taken; ++i) record << ",0";
    record << "]}}]}\n";
}

void sample(pid_t first, const Options& options) {
    Counts counts;
    tmaprobe::trace::EndingThreads ending;
    std::deque<Snapshot> kept;  // alive for a while, as a copy that is being looked at
    while (!tmaprobe::process::has_ended(first)) {
        ending.settle();
        std::vector<pid_t> processes{first};
        add_descendants(first, processes);
        for (const pid_t process : processes)
            for (const pid_t thread : threads_of(process)) {
                auto attempt = tmaprobe::trace::take_snapshot(process, thread, ending);
                count(attempt, counts);
                if (attempt.snapshot) kept.push_back(std::move(*attempt.snapshot));
                if (kept.size() > 3) kept.pop_front();
            }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    kept.clear();
    write_results(options, counts);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parsed(argc, argv);
    auto command = tmaprobe::process::HeldCommand::start(options.command);
    if (!command || !command->release()) return 127;
    // As in tmaprobe, it is no parent of theirs that stops them: a parent's wait for the end would be told of stops.
    const pid_t sampler = ::fork();
    if (sampler == 0) {
        sample(command->pid(), options);
        ::_exit(0);
    }
    std::optional<int> status;
    while (!(status = command->poll_exit())) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ::waitpid(sampler, nullptr, 0);
    return *status;
}
