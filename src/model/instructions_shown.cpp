#include "model/instructions_shown.h"

#include <algorithm>

#include "events/nearest.h"
#include "model/gate.h"
#include "trace/shown_cpu.h"

namespace tmaprobe::model {

bool has_avx512(const events::Library& library, const events::Table& target) {
    const auto choice = events::read_core_choice(library);
    if (!choice) return false;
    return std::ranges::any_of(choice->cores, [&](const events::KnownCore& core) {
        return core.folder == target.folder && std::ranges::find(core.features, "avx512f") != core.features.end();
    });
}

std::string instructions_shown(const events::Library& library, const events::Table& target,
                               const std::string& architecture) {
    const std::string level = trace::shown_level(has_avx512(library, target));
    return level.empty() ? architecture : level;
}

}  // namespace tmaprobe::model
