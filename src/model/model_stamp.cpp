#include "model/model_stamp.h"

#include <fmt/format.h>

#include "events/core_data.h"
#include "model/llvm/version.h"

namespace tmaprobe::model {

std::string stamp_of(unsigned revision, std::string_view llvm_version, std::string_view cpu_data) {
    // FNV-1a.
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : cpu_data) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
    return fmt::format("{}-{}-{:016x}", revision, llvm_version, hash);
}

Result<std::string> stamp_of_target(const events::Library& library, const events::Table& target) {
    return stamp_of(model_revision, core::llvm_version(),
                    TRY(events::read_core_data(library, target.folder, "geometry.json")));
}

}  // namespace tmaprobe::model
