#include "events/core_error.h"

#include <algorithm>

#include "events/read_data_as.h"

namespace tmaprobe::events {
namespace {

struct CoreErrorFile {
    std::vector<CoreError> cores;
};

}  // namespace
}  // namespace tmaprobe::events

namespace tmaprobe::json {

template <>
struct Description<events::CauseError> {
    using S = events::CauseError;
    static constexpr auto fields = std::make_tuple(field("cause", &S::cause), optional("more", &S::more),
                                                   optional("less", &S::less), optional("as", &S::as));
};
template <>
struct Description<events::CoreError> {
    using S = events::CoreError;
    static constexpr auto fields = std::make_tuple(field("folders", &S::folders), field("causes", &S::causes));
};
template <>
struct Description<events::CoreErrorFile> {
    using S = events::CoreErrorFile;
    static constexpr auto fields = std::make_tuple(field("cores", &S::cores));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<CoreError> read_core_error(const Library& library, const std::string& folder) {
    const auto file = TRY(read_data_as<CoreErrorFile>(library, "core-error.json"));
    const CoreError* others = nullptr;
    for (const CoreError& core : file.cores) {
        if (std::ranges::find(core.folders, folder) != core.folders.end()) return core;
        if (core.folders.empty()) others = &core;
    }
    if (!others) return fail(ErrorCode::bad_input, "core-error.json: nothing for cores that it does not name");
    return *others;
}

}  // namespace tmaprobe::events
