#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "events/table.h"

namespace tmaprobe::events {

/// A library of made-up files in a folder of its own, which goes with it.
class ScratchLibrary {
  public:
    using Files = std::map<std::string, std::string>;  ///< text by path
    explicit ScratchLibrary(const Files& files) {
        std::string pattern = (std::filesystem::temp_directory_path() / "tmaprobe-events-XXXXXX").string();
        root_ = ::mkdtemp(pattern.data());
        for (const auto& [name, text] : files) {
            std::filesystem::create_directories((root_ / name).parent_path());
            std::ofstream(root_ / name) << text;
        }
    }
    ScratchLibrary(const ScratchLibrary&) = delete;
    ScratchLibrary& operator=(const ScratchLibrary&) = delete;
    ~ScratchLibrary() {
        std::error_code none;
        std::filesystem::remove_all(root_, none);
    }
    Library library() const { return Library{root_}; }

  private:
    std::filesystem::path root_;
};

}  // namespace tmaprobe::events
