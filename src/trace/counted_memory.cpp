#include "trace/counted_memory.h"

#include <sstream>
#include <utility>

#include "base/file.h"

namespace tmaprobe::trace {

std::vector<CountedMapping> counted_mappings(pid_t process, const std::string& maps) {
    const auto is_counted = [](const std::string& text) {
        return text.find("/SYSV") != std::string::npos || text.find("/memfd:") != std::string::npos;
    };
    if (!is_counted(maps)) return {};
    // This file costs the kernel a walk through all page tables: most processes have no such memory.
    std::istringstream lines(read_file("/proc/" + std::to_string(process) + "/smaps").value_or(""));
    std::vector<CountedMapping> mappings;
    std::optional<SharedMapping> here;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("VmFlags:")) {
            if (auto mapping = shared_mapping(line)) here = std::move(mapping);
            continue;
        }
        // The last line of a mapping.
        if (here && is_counted(here->path))
            mappings.push_back({std::move(*here), (line + " ").find(" dc ") == std::string::npos});
        here.reset();
    }
    return mappings;
}

}  // namespace tmaprobe::trace
