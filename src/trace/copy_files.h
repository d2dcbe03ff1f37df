#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>

#include "trace/copied_call.h"
#include "trace/snapshot.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// The files of a copy as its program sees them. It has none of the original's descriptors: what was open is read at
/// its place and nothing of it is moved. Files and folders that it opens to read, it really opens, under the numbers
/// that the original would get; what it opens to write is written nowhere.
class CopyFiles {
  public:
    explicit CopyFiles(const Snapshot& snapshot);

    /// Nothing: the call is not about files, or not about what is known here.
    std::optional<CallOutcome> operator()(TracedProcess& copy, const CopiedCall& call);
    /// So much was written there, as the copy is told.
    void wrote(int descriptor, std::int64_t bytes);

  private:
    enum class Kind {
        of_original,  ///< a regular file; `file` says where it stands
        of_other,     ///< of which only what it is is known: a pipe, a terminal
        opened,       ///< by the copy itself
        written,      ///< opened by the copy to write: it is not there
    };
    struct Descriptor {
        Kind kind = Kind::of_other;
        OpenFile file{};
        std::int64_t size = 0;  ///< of what was written
    };

    std::optional<CallOutcome> of_descriptor(TracedProcess& copy, const CopiedCall& call);
    std::optional<CallOutcome> flags_of(TracedProcess& copy, const CopiedCall& call, Descriptor& descriptor);
    static bool is_unknown(const Descriptor& descriptor);
    static bool is_no_terminal(const Descriptor& descriptor);
    std::optional<CallOutcome> of_opened(const CopiedCall& call);
    std::optional<CallOutcome> of_original(TracedProcess& copy, const CopiedCall& call, OpenFile& file) const;
    std::optional<CallOutcome> of_written(TracedProcess& copy, const CopiedCall& call, Descriptor& file) const;
    std::optional<CallOutcome> of_other(TracedProcess& copy, const CopiedCall& call, const OpenFile& file) const;
    CallOutcome read(TracedProcess& copy, const CopiedCall& call, OpenFile& file) const;
    CallOutcome map(const CopiedCall& call) const;
    CallOutcome open(TracedProcess& copy, int folder, std::uint64_t path, int flags);
    CallOutcome open_nothing(TracedProcess& copy, Kind kind, mode_t mode, unsigned flags);
    CallOutcome make_pipe(TracedProcess& copy, const CopiedCall& call);
    CallOutcome connect(TracedProcess& copy, const CopiedCall& call) const;
    CallOutcome close(int descriptor);
    CallOutcome duplicate(TracedProcess& copy, const CopiedCall& call);
    bool reaches(TracedProcess& copy, int folder, std::uint64_t path) const;
    bool keep_numbers(TracedProcess& copy);

    pid_t original_, copied_;
    std::map<int, Descriptor> descriptors_;  ///< in use
    bool numbers_kept_ = false;
};

}  // namespace tmaprobe::trace
