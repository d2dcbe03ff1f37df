#include "process/cpus_to_use.h"

#include <sched.h>

#include <algorithm>

namespace tmaprobe::process {

unsigned cpus_to_use() {
    cpu_set_t cpus;
    if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
    constexpr int many = 8;
    return static_cast<unsigned>(std::clamp(CPU_COUNT(&cpus), 1, many));
}

}  // namespace tmaprobe::process
