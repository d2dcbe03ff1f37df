#include "trace/read_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace tmaprobe::trace {

std::size_t read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes) {
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = ::process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    // Some sandboxes refuse the call above, but not the file.
    const Fd memory(::open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t read_bytes = memory ? ::pread(memory.get(), to, bytes, static_cast<off_t>(address)) : -1;
    return read_bytes > 0 ? static_cast<std::size_t>(read_bytes) : 0;
}

}  // namespace tmaprobe::trace
