#include "symbols/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/file.h"

namespace tmaprobe::symbols {

PerfMap PerfMap::parse(const std::string& text) {
    PerfMap map;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        unsigned long long begin = 0, bytes = 0;
        int name_at = -1;
        if (std::sscanf(line.c_str(), "%llx %llx %n", &begin, &bytes, &name_at) != 2 || name_at < 0) continue;
        map.functions_.push_back({begin, begin + bytes, line.substr(static_cast<std::size_t>(name_at))});
    }
    std::ranges::stable_sort(map.functions_, {}, &Function::begin);
    return map;
}

PerfMap PerfMap::of_process(pid_t process) {
    const std::string path = "/tmp/perf-" + std::to_string(process) + ".map";
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_uid != ::geteuid() && status.st_uid != 0))
        return {};
    const auto text = read_file(path);
    return text ? parse(*text) : PerfMap();
}

const PerfMap::Function* PerfMap::find(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
    if (after == functions_.begin()) return nullptr;
    const Function& last = *(after - 1);
    return address < last.end ? &last : nullptr;
}

}  // namespace tmaprobe::symbols
