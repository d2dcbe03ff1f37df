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
/// somebody waits for us (by a real-time policy). Whether it does.
bool step_back(pid_t process);
/// Takes it back.
void step_forward(pid_t process);

/// For a process of ours that may not step back: it gives way by itself. It is asked after each piece of work how long
/// to rest; not at all while nobody else wants its CPU.
class GivesWay {
  public:
    /// ns, of what was done since it was made or asked last; at most a second.
    std::uint64_t rest_ns();
    /// The rest is over, and other work begins.
    void go_on();

  private:
    std::uint64_t begun_ns_ = 0, waited_ns_ = 0;
};

/// The rest for so much work, of which so long was spent waiting for a CPU: nine times what it took of a CPU that
/// others want.
std::uint64_t rest_for(std::uint64_t elapsed_ns, std::uint64_t waited_ns);

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
