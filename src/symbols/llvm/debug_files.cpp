#include "symbols/llvm/debug_files.h"

#include <llvm/ADT/StringExtras.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace tmaprobe::symbols {
namespace {

bool has_debug_information(const llvm::object::ELFObjectFileBase& object) {
    for (const llvm::object::SectionRef& section : object.sections()) {
        auto name = section.getName();
        if (!name)
            llvm::consumeError(name.takeError());
        else if (*name == ".debug_info" || *name == ".zdebug_info")
            return true;
    }
    return false;
}

bool names_servers() {
    const char* servers = std::getenv("DEBUGINFOD_URLS");
    return servers && *servers;
}

/// The first line that a command prints; empty where it fails.
std::string line_of(const std::string& command) {
    std::FILE* output = ::popen(command.c_str(), "re");
    if (!output) return {};
    std::string line;
    for (int c = std::fgetc(output); c != EOF && c != '\n'; c = std::fgetc(output)) line += static_cast<char>(c);
    return ::pclose(output) == 0 ? line : std::string();
}

}  // namespace

DebugFiles::DebugFiles(const llvm::object::ELFObjectFileBase& object)
    : BuildIDFetcher({"/usr/lib/debug"}), asks_servers_(names_servers() && !has_debug_information(object)) {}

std::optional<std::string> DebugFiles::fetch(llvm::object::BuildIDRef id) const {
    auto here = BuildIDFetcher::fetch(id);
    if (here || !asks_servers_) return here;
    const std::string path = line_of("debuginfod-find debuginfo " + llvm::toHex(id, true) + " 2>/dev/null");
    return path.empty() ? std::nullopt : std::optional(path);
}

}  // namespace tmaprobe::symbols
