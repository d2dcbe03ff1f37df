#pragma once

#include <sys/types.h>

#include <signal.h>

// Who has a CPU while a program is stopped. All of this is done where the kernel allows it, and left where it does not.
namespace tmaprobe::trace {

/// What holds the original up goes before all others, and so does what it starts. Of a task that we have made
/// ourselves.
void hurry(pid_t task);
/// The ordinary policy.
void take_time(pid_t task);
/// To the CPU that is ours just now, where nobody gets a turn between it and us; another may be in the middle of
/// others' work in the kernel, which is not interrupted on many machines.
void come_here(pid_t task);
/// Where `like` may run.
void go_where(pid_t task, pid_t like);

/// While it lives, no signal can end us in the middle of what must not be left half done, and nobody goes before us.
class Undisturbed {
  public:
    Undisturbed();
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;
    ~Undisturbed();

  private:
    sigset_t before_{};
    int policy_;
};

/// While it lives, a thread of the ordinary policy, which stands, goes before all others, so that its stop does not
/// last for the turns of others; the kernel keeps what else it has (nice, slice) for when it is as before.
class GoingBefore {
  public:
    explicit GoingBefore(pid_t thread);
    GoingBefore(const GoingBefore&) = delete;
    GoingBefore& operator=(const GoingBefore&) = delete;
    ~GoingBefore();

  private:
    pid_t thread_;
    bool goes_;
};

}  // namespace tmaprobe::trace
