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

/// By threads that are there at the end; those that were not there before used all that they have.
double used_since(const std::map<pid_t, std::uint64_t>& before, const std::map<pid_t, std::uint64_t>& now) {
    double used_ns = 0;
    for (const auto& [thread, used] : now) {
        const auto then = before.find(thread);
        used_ns += static_cast<double>(used - std::min(used, then == before.end() ? 0 : then->second));
    }
    return used_ns;
}

}  // namespace

Sampler::Sampler(std::vector<pid_t> processes, SamplingLimits limits, pid_t reaper)
    : processes_(std::move(processes)),
      reaper_(reaper),
      limits_(limits),
      next_ns_(process::now_ns() +
               (limits.first_after_ns > between_looks_ns ? limits.first_after_ns - between_looks_ns : 0)),
      interval_ns_(limits.shortest_interval_ns) {
    booked_.at_ns = process::now_ns();
}

Sampler::Look Sampler::look() {
    Look look;
    look.threads = processes_.look();
    look.at_ns = process::now_ns();
    threads_ = look.threads;
    for (const auto& thread : look.threads) {
        look.used_ns[thread.thread] = thread.used_ns;
        look.all_used_ns += thread.used_ns + thread.ended_children_ns;
        look.all_system_ns += thread.system_ns + thread.ended_children_system_ns;
        look.processes[thread.process] += thread.ended_children_ns;
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
    std::vector<process::ThreadUse> running;
    for (auto thread : now.threads) {
        const auto then = before.used_ns.find(thread.thread);
        thread.used_ns -= std::min(thread.used_ns, then == before.used_ns.end() ? 0 : then->second);
        if (thread.running && (!only_children_ || parent_of(thread.process) == reaper_)) running.push_back(thread);
    }
    const double booked_ns = static_cast<double>(booked_.at_ns), sampled_before = booked_.sampled_ns;
    book(before, now, running.size());
    // Looks cost the machine something, too: many threads are looked at less often.
    constexpr std::uint64_t looks_share = 50;
    const std::uint64_t soonest = process::now_ns() + looks_share * cost_of_a_look;
    if (running.empty()) {
        booked_.sampled_ns = sampled_before;  // nothing of it was anything that could be seen now
        next_ns_ = std::max(soonest, process::now_ns() + limits_.shortest_interval_ns);
        return std::nullopt;
    }
    auto sample = copy_one_of(std::move(running));
    if (sample) {
        book_stop(sample->snapshot);
        rate_ = (booked_.sampled_ns - sampled_before) / std::max(1.0, static_cast<double>(booked_.at_ns) - booked_ns);
        sample->at_ns = booked_.sampled_ns;
        if (++samples_ % limits_.samples_per_interval == 0)
            interval_ns_ = std::min(limits_.longest_interval_ns, 2 * interval_ns_);
    }
    double wait_ns = static_cast<double>(sample ? interval_ns_ : std::min(interval_ns_, limits_.shortest_interval_ns));
    // For no longer than it has to: what comes before a copy is seen by the one before it alone, if that lives on.
    if (!sample && affordable_after_ns_ > 0 && rate_ > 0) wait_ns = std::min(wait_ns, affordable_after_ns_ / rate_);
    next_ns_ = std::max(soonest, process::now_ns() + static_cast<std::uint64_t>(wait_ns));
    return sample;
}

/// Takes down the processor time until `now`.
void Sampler::book(const Look& before, const Look& now, std::size_t running) {
    const auto time_ns = static_cast<double>(std::max<std::uint64_t>(1, now.at_ns - booked_.at_ns));
    // Where nobody came or went, the kernel's figures tell it, each as old as a tick.
    const bool all_known = booked_.processes.empty() ? reaper_ > 0 : booked_.processes == now.processes;
    double used_ns = used_since(all_known ? booked_.used_ns : before.used_ns, now.used_ns);
    if (!all_known) {
        double rate = used_ns / static_cast<double>(std::max<std::uint64_t>(1, now.at_ns - before.at_ns));
        // A thread that runs and whose time has not moved is new, or was not looked at by the kernel meanwhile.
        if (rate <= 0) rate = static_cast<double>(running);
        const auto cpus = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
        used_ns = std::min(rate, cpus) * time_ns;
    }
    rate_ = used_ns / time_ns;
    booked_ = {now.used_ns, now.processes, now.at_ns, booked_.sampled_ns + used_ns};
}

/// A thread stood a moment ago: the kernel's figure was exact then.
void Sampler::book_stop(const Snapshot& snapshot) {
    const auto exact = process::used_by(snapshot.process, snapshot.thread);
    const auto booked = booked_.used_ns.find(snapshot.thread);
    if (!exact || booked == booked_.used_ns.end() || *exact < booked->second) return;
    booked_.sampled_ns += static_cast<double>(*exact - booked->second);
    booked->second = *exact;
    booked_.at_ns = process::now_ns();
}

double Sampler::sampled_ns() const {
    return booked_.sampled_ns + rate_ * static_cast<double>(process::now_ns() - booked_.at_ns);
}

std::optional<Sample> Sampler::take_after_exec(pid_t process) {
    auto taken = take_snapshot_after_exec(process, ending_, reaper_);
    note(taken);
    if (!taken.snapshot) return std::nullopt;
    processes_.left_out.insert(taken.snapshot->copy());
    find_paths(process, taken.snapshot->files);
    return Sample{std::move(*taken.snapshot)};
}

double Sampler::affordable_after_ns(std::uint64_t resident_bytes) const {
    const double so_far =
        static_cast<double>(cost_.total_pause_ns) + fault_ns * static_cast<double>(cost_.copied_pages) + cost_.looks_ns;
    const double usual =
        cost_.copies ? static_cast<double>(cost_.total_pause_ns) / static_cast<double>(cost_.copies) : 0;
    const double wanted_ns = (so_far + std::max(usual, expected_pause_ns(resident_bytes))) / limits_.share;
    return std::max(0.0, wanted_ns - processor_ns_);
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
        affordable_after_ns_ = affordable_after_ns(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
        if (affordable_after_ns_ > 0) return std::nullopt;
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
