#include "process/mappings.h"

#include <cstdio>
#include <sstream>

#include "base/file.h"

namespace tmaprobe::process {

std::vector<MemoryMapping> memory_mappings_of(pid_t process) {
    const auto text = read_file("/proc/" + std::to_string(process) + "/maps");
    return text ? parse_mappings(*text) : std::vector<MemoryMapping>();
}

std::vector<CodeMapping> code_mappings_of(pid_t process) { return code_of(memory_mappings_of(process)); }

std::vector<CodeMapping> code_of(const std::vector<MemoryMapping>& mappings) {
    std::vector<CodeMapping> code;
    for (const MemoryMapping& mapping : mappings)
        if (mapping.executable) code.push_back(mapping);
    return code;
}

std::vector<MemoryMapping> parse_mappings(const std::string& maps) {
    constexpr std::string_view deleted = " (deleted)";
    std::vector<MemoryMapping> mappings;
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {
        unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
        char permissions[5] = {};
        int path_at = -1;
        const int read = std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*x:%*x %llu %n", &begin, &end, permissions,
                                     &offset, &inode, &path_at);
        if (read != 5) continue;
        MemoryMapping mapping{{begin, end, offset, inode, {}, false},
                              permissions[1] == 'w',
                              permissions[2] == 'x',
                              permissions[3] == 's'};
        if (path_at >= 0) mapping.path = line.substr(static_cast<std::size_t>(path_at));
        if (mapping.path.ends_with(deleted)) {
            mapping.path.resize(mapping.path.size() - deleted.size());
            mapping.deleted = true;
        }
        mappings.push_back(std::move(mapping));
    }
    return mappings;
}

}  // namespace tmaprobe::process
