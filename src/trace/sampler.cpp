#include "trace/sampler.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/file.h"
#include "process/held_command.h"
#include "trace/snapshot_checks.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t between_looks_ns =
    5'000'000;                    // the kernel's own figures of a running thread are as old as its last tick
constexpr double fault_ns = 700;  // that a page costs its owner when it becomes its own again

void sleep_ns(std::uint64_t ns) {
    const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    ::nanosleep(&time, nullptr);
}

/// Of a fork and the stops around it, from processes of 10 to 1,000 MB.
double expected_pause_ns(std::uint64_t resident_bytes) { return 0.5e6 + 15e-3 * static_cast<double>(resident_bytes); }

}  // namespace

Sampler::Sampler(std::vector<pid_t> processes, SamplingLimits limits, pid_t reaper)
    : processes_(std::move(processes)),
      reaper_(reaper),
      limits_(limits),
      last_ns_(process::now_ns()),
      next_ns_(last_ns_ + (limits.first_after_ns > between_looks_ns ? limits.first_after_ns - between_looks_ns : 0)),
      interval_ns_(limits.shortest_interval_ns) {}

Sampler::Look Sampler::look() {
    Look look;
    look.threads = processes_.look();
    look.at_ns = process::now_ns();
    threads_ = look.threads;
    for (const auto& thread : look.threads) {
        look.used_ns[thread.thread] = thread.used_ns;
        look.all_used_ns += thread.used_ns + thread.ended_children_ns;
        look.all_system_ns += thread.system_ns + thread.ended_children_system_ns;
        seen_.insert(thread.thread);
    }
    // A command is seen from its start; of what ran before, only what it uses from now on counts.
    if (!used_at_first_look_ns_) {
        used_at_first_look_ns_ = reaper_ > 0 ? 0 : look.all_used_ns;
        system_at_first_look_ns_ = reaper_ > 0 ? 0 : look.all_system_ns;
    }
    const std::uint64_t used = look.all_used_ns - std::min(look.all_used_ns, *used_at_first_look_ns_);
    processor_ns_ = std::max(processor_ns_, static_cast<double>(used));
    const std::uint64_t system = look.all_system_ns - std::min(look.all_system_ns, system_at_first_look_ns_);
    system_ns_ = std::max(system_ns_, static_cast<double>(system));
    return look;
}

std::optional<Sample> Sampler::take() {
    const std::uint64_t start = process::now_ns();
    const Look before = look();
    const std::uint64_t cost_of_a_look = process::now_ns() - start;
    sleep_ns(between_looks_ns);
    Look now = look();
    double used_ns = 0;
    std::vector<process::ThreadUse> running;
    for (auto thread : now.threads) {
        const auto then = before.used_ns.find(thread.thread);
        thread.used_ns -= std::min(thread.used_ns, then == before.used_ns.end() ? 0 : then->second);
        used_ns += static_cast<double>(thread.used_ns);
        if (thread.running && (!only_children_ || parent_of(thread.process) == reaper_)) running.push_back(thread);
    }
    // A thread that runs and whose time has not moved is new, or was not looked at by the kernel meanwhile.
    const auto cpus = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    double rate = used_ns / static_cast<double>(std::max<std::uint64_t>(1, now.at_ns - before.at_ns));
    if (rate <= 0) rate = static_cast<double>(running.size());
    rate_ = std::min(rate, cpus);
    waiting_ns_ += rate_ * static_cast<double>(now.at_ns - last_ns_);
    last_ns_ = now.at_ns;
    // Looks cost the machine something, too: many threads are looked at less often.
    constexpr std::uint64_t looks_share = 50;
    const std::uint64_t soonest = process::now_ns() + looks_share * cost_of_a_look;
    if (running.empty()) {
        waiting_ns_ = 0;  // nothing of it was anything that could be seen now
        next_ns_ = std::max(soonest, process::now_ns() + limits_.shortest_interval_ns);
        return std::nullopt;
    }
    auto sample = copy_one_of(std::move(running));
    if (sample) {
        sample->stands_for_ns = waiting_ns_;
        waiting_ns_ = 0;
        if (++samples_ % limits_.samples_per_interval == 0)
            interval_ns_ = std::min(limits_.longest_interval_ns, 2 * interval_ns_);
    }
    next_ns_ = std::max(
        soonest, process::now_ns() + (sample ? interval_ns_ : std::min(interval_ns_, limits_.shortest_interval_ns)));
    return sample;
}

double Sampler::since_last_sample_ns() const {
    return waiting_ns_ + rate_ * static_cast<double>(process::now_ns() - last_ns_);
}

std::optional<Sample> Sampler::take_after_exec(pid_t process) {
    auto taken = take_snapshot_after_exec(process, ending_, reaper_);
    note(taken);
    if (!taken.snapshot) return std::nullopt;
    processes_.left_out.insert(taken.snapshot->copy());
    find_paths(process, taken.snapshot->files);
    // It stands for the start alone, which is short: what follows has samples of its own. A loader of a few libraries
    // takes a millisecond.
    constexpr double start_ns = 1e6;
    return Sample{std::move(*taken.snapshot), start_ns};
}

bool Sampler::can_afford(std::uint64_t resident_bytes) const {
    const double so_far =
        static_cast<double>(cost_.total_pause_ns) + fault_ns * static_cast<double>(cost_.copied_pages) + cost_.looks_ns;
    const double usual =
        cost_.copies ? static_cast<double>(cost_.total_pause_ns) / static_cast<double>(cost_.copies) : 0;
    return so_far + std::max(usual, expected_pause_ns(resident_bytes)) <= limits_.share * processor_ns_;
}

std::optional<Sample> Sampler::copy_one_of(std::vector<process::ThreadUse> running) {
    // A thread that is in the kernel most of the time is met there most of the time.
    constexpr int most_attempts = 16, in_own_code = 4;
    constexpr std::uint64_t between_attempts_ns = 150'000;
    constexpr double at_least_ns = 1e5;  // for those whose time has not moved yet
    for (int attempt = 0; attempt < most_attempts && !running.empty(); ++attempt) {
        std::vector<double> weights;
        for (const auto& thread : running)
            weights.push_back(std::max(at_least_ns, static_cast<double>(thread.used_ns)));
        std::discrete_distribution<std::size_t> choice(weights.begin(), weights.end());
        const auto chosen = running.begin() + static_cast<std::ptrdiff_t>(choice(random_));
        unsigned long long pages = 0;
        std::sscanf(read_line("/proc/" + std::to_string(chosen->process) + "/statm").c_str(), "%*u %llu", &pages);
        if (!can_afford(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))) return std::nullopt;
        auto taken = take_snapshot(chosen->process, chosen->thread, ending_, reaper_, attempt >= in_own_code);
        note(taken);
        if (taken.snapshot) {
            processes_.left_out.insert(taken.snapshot->copy());
            find_paths(chosen->process, taken.snapshot->files);
            const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
            return Sample{std::move(*taken.snapshot), 0,
                          weights[static_cast<std::size_t>(chosen - running.begin())] / all};
        }
        // A reaper of orphans is told once, and not again: its descendants are left alone from now on.
        if (taken.missed == Missed::adopted) only_children_ = true;
        const bool passing =
            taken.missed == Missed::in_kernel || taken.missed == Missed::critical || taken.missed == Missed::waiting;
        if (!passing) running.erase(chosen);
        sleep_ns(between_attempts_ns);
    }
    return std::nullopt;
}

void Sampler::note(const SnapshotAttempt& attempt) {
    cost_.total_pause_ns += attempt.pause_ns;
    cost_.longest_pause_ns = std::max(cost_.longest_pause_ns, attempt.pause_ns);
    if (attempt.snapshot) {
        ++cost_.copies;
    } else {
        ++missed_[attempt.missed];
        if (!attempt.why.empty()) why_missed_ = attempt.why;
    }
}

void Sampler::copy_is_gone(const Snapshot& meta, pid_t copy) {
    processes_.left_out.erase(copy);
    const std::uint64_t now = minor_faults(meta.process);
    // What was not there yet when the copy was made faults for itself.
    const std::uint64_t shared = meta.resident_bytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    cost_.copied_pages += std::min(shared, now - std::min(now, meta.faults_before));
}

}  // namespace tmaprobe::trace
