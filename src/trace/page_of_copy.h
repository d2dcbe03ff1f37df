#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "process/region_page.h"
#include "trace/copy_calls.h"

namespace tmaprobe::trace {

/// A copy that comes to its program's first mark asks for the file that marks write to. It gets a memory of its own
/// with what is there, in which nobody has marked anything yet: nothing of what it marks is seen by others.
class PageOfCopy {
  public:
    explicit PageOfCopy(const process::RegionPage& page) : page_(page) {}

    /// Nothing: the system call at hand is about something else. Before CopyCalls is asked.
    std::optional<CopyCalls::Answer> operator()(TracedProcess& copy, Registers& registers);
    /// Called when it has it, with where that is.
    std::function<void(std::uint64_t address)> on_mapped;

  private:
    bool is_page(const TracedProcess& copy, std::uint64_t descriptor) const;
    bool begin_anew(TracedProcess& copy);

    const process::RegionPage& page_;
    bool mapped_ = false;
};

}  // namespace tmaprobe::trace
