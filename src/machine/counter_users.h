#pragma once

#include <filesystem>
#include <string>

namespace tmaprobe::machine {

/// Other processes that hold perf events, as far as this one may see: "perf (pid 4711), vtune (pid 815)". Empty:
/// none is seen. Who belongs to another user or lives in another PID namespace, and the kernel itself, is not seen
/// without root. `proc` is where processes are listed.
std::string find_counter_users(const std::filesystem::path& proc = "/proc");

}  // namespace tmaprobe::machine
