#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tmaprobe::process {

/// A thread as it was at one look.
struct ThreadUse {
    pid_t process = 0, thread = 0;
    std::uint64_t used_ns = 0;            ///< processor time so far, of this thread alone
    std::uint64_t system_ns = 0;          ///< of it in the kernel, as far as clock ticks tell
    bool running = false;                 ///< on a CPU, or waiting for one
    std::uint64_t ended_children_ns = 0;  ///< of a process's first thread: what children that it waited for had used
    std::uint64_t ended_children_system_ns = 0;
};

/// Some processes and all their descendants, found anew at each look. A descendant is still one when its parent has
/// ended.
class Descendants {
  public:
    explicit Descendants(std::vector<pid_t> processes);
    /// All threads now. Orphans are known by an earlier look, or by their process group if it is that of one of the
    /// first.
    std::vector<ThreadUse> look();
    /// Never part of it, nor its descendants.
    std::set<pid_t> left_out;

  private:
    struct Known {
        std::uint64_t start = 0;  ///< in clock ticks since boot: tells a process from a later one of the same number
        pid_t parent = 0, group = 0;
    };
    void visit(pid_t process, std::vector<ThreadUse>& found, std::map<pid_t, Known>& seen) const;
    std::vector<pid_t> orphans_of_our_groups() const;

    std::vector<pid_t> first_;
    std::set<pid_t> groups_;
    std::uint64_t earliest_ = ~std::uint64_t{0};
    std::map<pid_t, Known> known_;
};

/// Processor time of a thread, exact when it last stopped running; while it runs as old as the kernel's last tick.
/// Nothing when it is gone, or the kernel keeps no such figure.
std::optional<std::uint64_t> used_by(pid_t process, pid_t thread);

/// Whether no thread of it runs any more: it is gone, or a zombie that its parent has not taken note of.
bool has_ended(pid_t process);

/// What a process that others started is doing.
enum class ProcessState { gone, zombie, of_kernel, stopped, traced, there };
ProcessState state_of(pid_t process);

/// What a process used until now, by the kernel's books.
struct ProcessUse {
    double processor_ns = 0;
    std::uint64_t page_faults = 0;
    std::map<pid_t, std::uint64_t> context_switches;  ///< by thread
};
/// Without its children; nothing when it is gone.
std::optional<ProcessUse> use_of(pid_t process);

/// The program's name as the kernel has it; empty when it is gone.
std::string program_of(pid_t process);

}  // namespace tmaprobe::process
