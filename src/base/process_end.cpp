#include "base/process_end.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tmaprobe {

Fd end_of_process(pid_t process) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))); }

}  // namespace tmaprobe
