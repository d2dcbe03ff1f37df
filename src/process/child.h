#pragma once

#include <sys/types.h>

#include <functional>

#include "base/fd.h"
#include "base/result.h"

namespace tmaprobe::process {

/// Owns a forked copy of this process under a supervisor of its own, which ends with it all that it started,
/// even what left its process group or session: when it ends, when this is dropped, and when this process
/// goes, however it goes (SIGKILL too).
class Child {
  public:
    /// Forks; the child waits until release() and then runs `body` with the write end of a pipe, whose
    /// read end is output(). Errors: system.
    static Result<Child> start(const std::function<void(int output)>& body);
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child();

    /// The child's, not its supervisor's.
    pid_t pid() const { return pid_; }
    int output() const { return output_.get(); }
    void release();
    /// False once it has ended by itself; then how() says how ("exit status 3", "killed by signal 9").
    bool alive();
    const std::string& how() const { return how_; }

  private:
    Child() = default;
    pid_t pid_ = -1, supervisor_ = -1;
    Fd go_, output_;
    Fd life_;  ///< the supervisor ends everything when its other end sees that this is closed
    std::string how_;
};

}  // namespace tmaprobe::process
