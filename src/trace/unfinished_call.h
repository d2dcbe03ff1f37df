#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/registers.h"

namespace tmaprobe::trace {

/// Whether the registers are of a stop that came in the middle of a system call.
bool in_system_call(const Registers& registers);

/// A call that ended because of our stop alone is begun again when the thread goes on, as the kernel itself does with
/// most.
void begin_again(pid_t process, pid_t thread, const Registers& registers);

/// A system call that has done a part of what it was asked for when its thread was stopped: a blocking write() to a
/// pipe or a socket, a long read() of /dev/zero or of random bytes, recv() of all of a message, a file that the kernel
/// copies. The kernel ends it there, as a signal would, but none came: the program is not to see that. So the rest is
/// done by further calls, and the thread goes on when they are over, with all that was done as the result.
class UnfinishedCall {
  public:
    /// Of a thread that we have just stopped, in the middle of a system call. Nothing when its call is none of these.
    static std::optional<UnfinishedCall> find(pid_t process, pid_t thread, const Registers& registers);

    /// What came of a stop.
    enum class Outcome {
        goes_on,  ///< it is at the rest: its next stop is to be waited for
        let_go,   ///< the thread runs as if nothing had been
        killed,   ///< its end is to be waited for
    };
    /// Lets the thread begin with the rest.
    Outcome begin();
    /// At a stop of the thread, with its wait status.
    Outcome take(int status);

  private:
    struct Part {
        std::uint64_t at = 0, bytes = 0;
    };
    /// Memory that the call reads or writes, from its list of parts. False: it cannot be read.
    bool take_parts(pid_t process, std::uint64_t list, std::uint64_t count);
    Outcome call_for_the_rest();
    void ask_for_parts(user_regs_struct& call);
    Outcome run_to_next_stop();
    Outcome end(int signal);

    pid_t thread_ = 0;
    Registers stopped_{};
    std::vector<Part> parts_;
    /// Of a call without memory of its own: the argument that says how many bytes it copies.
    unsigned long long user_regs_struct::* count_ = nullptr;
    std::uint64_t total_ = 0, done_ = 0;
    std::uint64_t asked_ = 0;  ///< of the further call that is under way
    bool entered_ = false;
};

}  // namespace tmaprobe::trace
