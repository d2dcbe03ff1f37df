#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace tmaprobe::process {

/// What another program may ask of a measurement that runs.
enum class ControlCommand { enable, disable, reset, ping, unknown };

/// Through which another program says when to count, as perf stat's --control: lines "enable", "disable", "reset" and
/// "ping", each answered with "ack" where there is a way back.
class ControlChannel {
  public:
    /// "fifo:COMMANDS[,ANSWERS]" names FIFOs; "fd:N[,M]" descriptors that this process was started with.
    /// Errors: bad_usage for another text and for files that are no FIFOs, system where they do not open.
    static Result<ControlChannel> open(const std::string& text);

    /// Readable when a command has come.
    int descriptor() const { return commands_.get(); }
    /// The commands that have come, without waiting.
    std::vector<ControlCommand> read();
    /// False once nobody can send any more.
    bool is_open() const { return open_; }
    /// Says that a command has been followed.
    void acknowledge();

  private:
    Fd commands_, answers_;
    std::string begun_;  ///< of a command whose line is not at its end
    bool open_ = true;
};

}  // namespace tmaprobe::process
