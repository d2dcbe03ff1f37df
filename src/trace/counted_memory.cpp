#include "trace/counted_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "base/file.h"

namespace tmaprobe::trace {
std::vector<CountedMapping> counted_mappings(pid_t process, const std::string& maps) {
    const auto is_counted = [](const std::string& text) {
        return text.find("/SYSV") != std::string::npos || text.find("/memfd:") != std::string::npos;
    };
    if (!is_counted(maps)) return {};
    // This file costs the kernel a walk through all page tables: most processes have no such memory.
    const auto text = read_file("/proc/" + std::to_string(process) + "/smaps");
    std::vector<CountedMapping> mappings;
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    bool counted = false;
    while (std::getline(lines, line)) {
        unsigned long long begin = 0, end = 0;
        char permissions[5] = {};
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, permissions) == 3) {
            counted = permissions[3] == 's' && is_counted(line);
            if (!counted) continue;
            const int protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                                   (permissions[2] == 'x' ? PROT_EXEC : 0);
            mappings.push_back({begin, end, protection, true});
        } else if (counted && line.starts_with("VmFlags:")) {
            mappings.back().forked = (line + " ").find(" dc ") == std::string::npos;
        }
    }
    return mappings;
}

}  // namespace tmaprobe::trace
