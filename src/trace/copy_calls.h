#pragma once

#include <cstdint>
#include <optional>

#include "trace/copied_call.h"
#include "trace/copy_files.h"
#include "trace/copy_input.h"
#include "trace/snapshot.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// What becomes of a copy's system calls: those that touch nothing but the copy are carried out, some are answered as
/// the original would have been, and the others end the window.
class CopyCalls {
  public:
    explicit CopyCalls(const Snapshot& snapshot);

    enum class Answer { carry_out, answered, end };
    /// The thread stands before its system call instruction.
    Answer operator()(TracedProcess& copy, Registers& registers);

    std::optional<EndedBy> ended() const { return ended_; }

  private:
    CallOutcome outcome(TracedProcess& copy, const CopiedCall& call);
    std::optional<std::int64_t> own_number(const CopiedCall& call) const;
    CallOutcome receive(TracedProcess& copy, const CopiedCall& call);
    CallOutcome wait_for_input(TracedProcess& copy, const CopiedCall& call);
    CallOutcome close(TracedProcess& copy, const CopiedCall& call);
    CallOutcome futex(TracedProcess& copy, const CopiedCall& call);

    pid_t copied_;
    Identity identity_;
    CopyFiles files_;
    CopyInput input_;
    std::optional<EndedBy> ended_;
    int yields_ = 0, timers_ = 0;
};

}  // namespace tmaprobe::trace
