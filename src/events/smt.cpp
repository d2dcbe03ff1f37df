#include "events/smt.h"

#include <algorithm>

#include "events/read_data_as.h"

namespace tmaprobe::events {
namespace {

struct SmtFile {
    std::vector<SmtSharing> cores;
};

}  // namespace
}  // namespace tmaprobe::events

namespace tmaprobe::json {

template <>
struct Description<events::SmtSharing> {
    using S = events::SmtSharing;
    static constexpr auto fields = std::make_tuple(field("folders", &S::folders), field("partitioned", &S::partitioned),
                                                   field("shared", &S::shared));
};
template <>
struct Description<events::SmtFile> {
    using S = events::SmtFile;
    static constexpr auto fields = std::make_tuple(field("cores", &S::cores));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<std::optional<SmtSharing>> read_smt_sharing(const Library& library, const std::string& folder) {
    const auto file = TRY(read_data_as<SmtFile>(library, "smt.json"));
    for (const SmtSharing& core : file.cores)
        if (std::ranges::find(core.folders, folder) != core.folders.end()) return core;
    return std::nullopt;
}

Result<std::vector<SmtStructure>> taken_by_sibling(const Library& library, const std::string& folder) {
    const auto sharing = TRY(read_smt_sharing(library, folder));
    if (!sharing)
        return fail(ErrorCode::bad_usage,
                    "what a busy sibling takes of " + folder + " is not known, or it has no hyperthreads",
                    "events/smt.json says of which cores it is known");
    std::vector<SmtStructure> taken = sharing->partitioned;
    taken.insert(taken.end(), sharing->shared.begin(), sharing->shared.end());
    return taken;
}

}  // namespace tmaprobe::events
