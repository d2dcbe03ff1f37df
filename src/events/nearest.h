#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "machine/host.h"

namespace tmaprobe::events {

/// A core that may stand in for one that no table has.
struct KnownCore {
    std::string folder;
    std::string vendor;                 ///< as CoreChoice::vendors names it
    std::vector<std::string> features;  ///< of those that are compared
    std::uint64_t l1_instruction_bytes = 0, l1_data_bytes = 0, l2_bytes = 0;
};

/// The rules of nearest.json, with the sizes of each core's caches out of its geometry.
struct CoreChoice {
    struct Relative {
        std::string pattern;  ///< of CPU ids, as in a mapfile
        std::string core;     ///< folder, or the CPU id of one of the cores that share a folder
        std::string why;
    };
    struct Vendor {
        std::string prefix;  ///< of a CPU id
        std::string name;
    };
    std::vector<Relative> relatives;
    std::vector<Vendor> vendors;
    std::vector<KnownCore> cores;  ///< oldest first
    double missing = 1;            ///< distance of a feature that the CPU has and the core has not
    double extra = 1;              ///< of one that the core has and the CPU has not: a hypervisor may hide it
    double cache = 1;              ///< of a cache twice or half as large
    /// From so many features on that a CPU has and the core which its id names has not, the id is not believed.
    /// Variants of a core may bring one or two more (Cooper Lake, Arrow Lake S).
    std::size_t impossible_features = 3;
};

struct NearestCore {
    std::string core;  ///< as load() takes it
    std::string why;   ///< one clause: by what it is the nearest
};

/// The core that stands in for this CPU: a known relative of its id; else, of the cores of its vendor (of its
/// instruction set, where the vendor has none here), the one with the least distance in features and cache sizes; of
/// several the newest. Errors: unavailable when no core has the CPU's instruction set.
Result<NearestCore> nearest_core(const CoreChoice& choice, const machine::Host& cpu);

/// What a CPU is by its features where these contradict its id.
struct OtherCore {
    std::string folder, title;          ///< of the nearest core of its vendor
    std::string named_title;            ///< of the core that its id names
    std::vector<std::string> features;  ///< the contradiction: the CPU has them, the named core cannot
};

/// The features that a CPU has and the core of a folder has not; none for a folder that is not among the choices.
std::vector<std::string> impossible_features(const CoreChoice& choice, const std::string& folder,
                                             const machine::Host& cpu);

/// Hypervisors may show another model number than the CPU's. Nothing where the CPU's features fit the table that its id
/// led to. Errors: as nearest_core and read_core_choice.
Result<std::optional<OtherCore>> other_core_than_named(const Library& library, const Table& named,
                                                       const machine::Host& cpu);

/// The folder of the core that a CPU is: that which its id named, or the nearest one of its vendor where its features
/// contradict the id. Errors: as read_core_choice.
Result<std::string> folder_by_features(const Library& library, const std::string& named, const machine::Host& cpu);

/// Reads nearest.json and the geometries of its cores. Errors: bad_input for a broken file.
Result<CoreChoice> read_core_choice(const Library& library);

/// The table that stands in for a CPU which no table has: the nearest core's name, whose id the model asks for, and no
/// event of it, since its encodings count something else here; the tree is the model's own. Errors: as nearest_core
/// and read_core_choice.
struct StandIn {
    Table table;
    NearestCore nearest;
};
Result<StandIn> stand_in_for(const Library& library, const machine::Host& cpu);

}  // namespace tmaprobe::events
