#pragma once

#include <cstddef>
#include <string_view>

namespace tmaprobe::events {

/// One file of events/ as it was at build time, in the binary.
struct EmbeddedFile {
    std::string_view path;  ///< relative to events/: "cascadelakex/metrics.json"
    std::string_view content;
};

/// Files are sorted by path; index < embedded_count().
EmbeddedFile embedded_file(std::size_t index);
std::size_t embedded_count();

}  // namespace tmaprobe::events
