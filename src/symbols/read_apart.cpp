#include "symbols/read_apart.h"

#include <sys/resource.h>

namespace tmaprobe::symbols {

void limit_memory() {
    constexpr rlim_t most_bytes = rlim_t{16} << 30;
    const rlimit memory{most_bytes, most_bytes}, no_core{0, 0};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take more address space than that
    ::setrlimit(RLIMIT_AS, &memory);
#else
    static_cast<void>(memory);
#endif
    ::setrlimit(RLIMIT_CORE, &no_core);
}

}  // namespace tmaprobe::symbols
