#include "experiments/workloads.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace tmaprobe::experiments {
namespace {

bool can_start(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

CommandWorkload::CommandWorkload(std::vector<std::string> argv) : argv_(std::move(argv)) {
    struct stat input{};
    if (::fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode)) input_start_ = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
}

void CommandWorkload::prepare() {
    if (input_start_) static_cast<void>(::lseek(STDIN_FILENO, *input_start_, SEEK_SET));
}

Result<> check_command(const std::vector<std::string>& argv) {
    const std::string& program = argv.front();
    const auto missing = [&](const std::string& why, const std::string& hint) {
        return fail(ErrorCode::unavailable, "cannot start '" + program + "': " + why, hint);
    };
    std::error_code ignored;
    if (program.find('/') != std::string::npos) {
        if (!std::filesystem::exists(program, ignored))
            return missing("no such file", "check its path; a name without '/' is looked for in PATH");
        if (!can_start(program))
            return missing("it is not an executable file", "chmod +x, or name the interpreter before it");
        return {};
    }
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (can_start(std::filesystem::path(folder.empty() ? "." : folder) / program)) return {};
    return missing("it is not in PATH", "check its name; a program of this folder is started as ./" + program);
}

}  // namespace tmaprobe::experiments
