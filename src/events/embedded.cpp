#include "events/embedded.h"

#include <cstddef>
#include <cstdint>

// Laid out by cmake/EmbeddedEvents.cmake: four quad words a file.
struct RawFile {
    const char* name;
    std::size_t name_size;
    const char* data;
    std::size_t data_size;
};
extern "C" const RawFile tmaprobe_embedded_files[];
extern "C" const std::uint64_t tmaprobe_embedded_count;

namespace tmaprobe::events {

EmbeddedFile embedded_file(std::size_t index) {
    const RawFile& raw = tmaprobe_embedded_files[index];
    return {{raw.name, raw.name_size}, {raw.data, raw.data_size}};
}

std::size_t embedded_count() { return tmaprobe_embedded_count; }

}  // namespace tmaprobe::events
