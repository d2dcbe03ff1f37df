#include "trace/turns.h"

#include <sched.h>

#include <cstddef>

namespace tmaprobe::trace {
namespace {

void take_turn(pid_t task, int policy, int priority) {
    const sched_param parameters{priority};
    ::sched_setscheduler(task, policy, &parameters);
}

}  // namespace

void hurry(pid_t task) { take_turn(task, SCHED_FIFO, 1); }
void take_time(pid_t task) { take_turn(task, SCHED_OTHER | SCHED_RESET_ON_FORK, 0); }

void come_here(pid_t task) {
    const int here = ::sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    if (here < 0 || here >= CPU_SETSIZE) return;
    CPU_SET(static_cast<std::size_t>(here), &one);
    ::sched_setaffinity(task, sizeof one, &one);
}

void go_where(pid_t task, pid_t like) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(like, sizeof allowed, &allowed) == 0) ::sched_setaffinity(task, sizeof allowed, &allowed);
}

Undisturbed::Undisturbed() : policy_(::sched_getscheduler(0)) {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
    take_turn(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 1);
}

Undisturbed::~Undisturbed() {
    take_turn(0, policy_ | SCHED_RESET_ON_FORK, 0);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

GoingBefore::GoingBefore(pid_t thread) : thread_(thread) {
    const sched_param first{1};
    goes_ = ::sched_getscheduler(thread) == SCHED_OTHER && ::sched_setscheduler(thread, SCHED_FIFO, &first) == 0;
}

GoingBefore::~GoingBefore() {
    const sched_param as_before{0};
    if (goes_) ::sched_setscheduler(thread_, SCHED_OTHER, &as_before);
}

}  // namespace tmaprobe::trace
