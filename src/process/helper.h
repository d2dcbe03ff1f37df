#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace tmaprobe::process {

/// In a helper: what its starter wants of it.
class HelperOrders {
  public:
    explicit HelperOrders(Fd end) : end_(std::move(end)) {}
    /// What it was started for is over. Waits for that at most so long.
    bool over(std::int64_t patience_ns = 0) const;

  private:
    Fd end_;
};

/// From now on the process, ours and the only one of its session, takes about a tenth of what others that compete for
/// a CPU get; only where it may be taken back, and where we may still go before all others in a moment in which
/// somebody waits for us (by a real-time policy).
void step_back(pid_t process);
/// Takes it back.
void step_forward(pid_t process);

/// A process of ours beside a command, in a session of its own: no key of the terminal reaches it. It ends with us,
/// whatever ends us, but not in the middle of what it guards by holding signals. What goes wrong in it ends nobody
/// else.
class Helper {
  public:
    /// Forks. `body` runs in the helper with nothing open but what it is given; its answer comes back by finish().
    /// `ready` is called by the body once; start() returns then, or when the helper has ended. Errors: system.
    static Result<Helper> start(
        const std::function<std::string(const HelperOrders&, const std::function<void()>& ready)>& body);
    Helper(Helper&& other) noexcept;
    Helper& operator=(Helper&&) = delete;
    /// Killed, if it still runs.
    ~Helper();

    pid_t pid() const { return pid_; }
    /// Says that it is over, and waits for the answer: at most so long, and while `go_on` says so. Empty: there is
    /// none.
    std::string finish(std::int64_t patience_ns, const std::function<bool()>& go_on);

  private:
    Helper() = default;
    pid_t pid_ = -1;
    Fd end_, answer_;
};

}  // namespace tmaprobe::process
