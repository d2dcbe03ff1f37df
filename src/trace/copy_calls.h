#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "trace/copy_input.h"
#include "trace/snapshot.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// Why a window of a copy ended before its time: what it would have done next reaches beyond it.
enum class EndedBy {
    waits,      ///< for another thread, a time, or something to read
    reads,      ///< from where the original would miss it
    files,      ///< opens, closes or changes files
    processes,  ///< starts or waits for threads and processes, or executes a program
    signals,    ///< sends one, or dies of one
    exits,
    spins,  ///< on what another thread would have changed
    other_call,
    error,  ///< of ours
};
std::string_view name_of(EndedBy reason);

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
    struct Call;
    Answer end(EndedBy reason);
    std::optional<std::int64_t> own_number(const Call& call) const;
    Answer read(TracedProcess& copy, Registers& registers, const Call& call, bool at_offset);
    Answer receive(TracedProcess& copy, Registers& registers, const Call& call);
    Answer wait_for_input(TracedProcess& copy, Registers& registers, const Call& call);
    Answer futex(TracedProcess& copy, Registers& registers, const Call& call);

    pid_t original_;
    pid_t copied_;
    Identity identity_;
    std::map<int, OpenFile> files_;
    CopyInput input_;
    std::optional<EndedBy> ended_;
    int yields_ = 0;
};

}  // namespace tmaprobe::trace
