#include "events/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "events/cpu_geometry.h"
#include "events/model_tree.h"
#include "events/read_data_as.h"
#include "metrics/cpuid.h"

namespace tmaprobe::events {
namespace {

/// nearest.json.
struct Distances {
    double missing = 1, extra = 1, cache = 1;
};
struct ChoiceFile {
    std::vector<CoreChoice::Relative> relatives;
    std::vector<CoreChoice::Vendor> vendors;
    std::vector<KnownCore> cores;
    Distances distances;
    std::size_t impossible_features = 0;
};

}  // namespace
}  // namespace tmaprobe::events

namespace tmaprobe::json {

using namespace events;

template <>
struct Description<CoreChoice::Relative> {
    using S = CoreChoice::Relative;
    static constexpr auto fields =
        std::make_tuple(field("cpu", &S::pattern), field("core", &S::core), field("why", &S::why));
};
template <>
struct Description<CoreChoice::Vendor> {
    using S = CoreChoice::Vendor;
    static constexpr auto fields = std::make_tuple(field("prefix", &S::prefix), field("vendor", &S::name));
};
template <>
struct Description<KnownCore> {
    using S = KnownCore;
    static constexpr auto fields =
        std::make_tuple(field("folder", &S::folder), field("vendor", &S::vendor), field("features", &S::features));
};
template <>
struct Description<Distances> {
    using S = Distances;
    static constexpr auto fields =
        std::make_tuple(field("missing", &S::missing), field("extra", &S::extra), field("cache", &S::cache));
};
template <>
struct Description<ChoiceFile> {
    using S = ChoiceFile;
    static constexpr auto fields = std::make_tuple(field("relatives", &S::relatives), field("vendors", &S::vendors),
                                                   field("distances", &S::distances), field("cores", &S::cores),
                                                   field("impossible_features", &S::impossible_features));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {
namespace {

/// Both kinds of instruction set are told apart by how perf spells an id.
bool is_arm(std::string_view id_or_prefix) { return id_or_prefix.starts_with("0x"); }

const CoreChoice::Vendor* vendor_of(const CoreChoice& choice, std::string_view cpu_id) {
    const auto found =
        std::ranges::find_if(choice.vendors, [&](const auto& vendor) { return cpu_id.starts_with(vendor.prefix); });
    return found == choice.vendors.end() ? nullptr : &*found;
}

bool has_instruction_set(const CoreChoice& choice, const KnownCore& core, bool arm) {
    return std::ranges::any_of(
        choice.vendors, [&](const auto& vendor) { return vendor.name == core.vendor && is_arm(vendor.prefix) == arm; });
}

std::uint64_t cache_bytes(const machine::Host& cpu, int level, bool instructions) {
    for (const machine::Cache& cache : cpu.caches)
        if (cache.level == level && (cache.kind == "instruction") == instructions) return cache.size_bytes;
    return 0;
}

/// In doublings; 0 where a size is not known.
double cache_distance(std::uint64_t one, std::uint64_t other) {
    if (one == 0 || other == 0) return 0;
    return std::abs(std::log2(static_cast<double>(one)) - std::log2(static_cast<double>(other)));
}

double distance(const CoreChoice& choice, const KnownCore& core, const machine::Host& cpu) {
    std::set<std::string> compared;
    for (const KnownCore& each : choice.cores) compared.insert(each.features.begin(), each.features.end());
    double sum = 0;
    for (const std::string& feature : compared) {
        const bool core_has = std::ranges::find(core.features, feature) != core.features.end();
        const bool cpu_has = machine::has_feature(cpu, feature);
        if (cpu_has && !core_has) sum += choice.missing;
        if (core_has && !cpu_has) sum += choice.extra;
    }
    return sum + choice.cache * (cache_distance(core.l1_instruction_bytes, cache_bytes(cpu, 1, true)) +
                                 cache_distance(core.l1_data_bytes, cache_bytes(cpu, 1, false)) +
                                 cache_distance(core.l2_bytes, cache_bytes(cpu, 2, false)));
}

/// The core of a vendor (nullptr: any with the CPU's instruction set) with the least distance, the newest of several.
const KnownCore* least_distant(const CoreChoice& choice, const CoreChoice::Vendor* vendor, const machine::Host& cpu) {
    const bool arm = cpu.architecture.empty() ? is_arm(cpu.cpu_id) : cpu.architecture == "aarch64";
    std::optional<double> least;
    const KnownCore* nearest = nullptr;
    for (const KnownCore& core : choice.cores) {
        if (vendor ? core.vendor != vendor->name : !has_instruction_set(choice, core, arm)) continue;
        const double here = distance(choice, core, cpu);
        if (least && here > *least) continue;
        least = here;
        nearest = &core;
    }
    return nearest;
}

/// Sizes of the caches of the first two levels, as its geometry has them.
void read_caches(const Library& library, KnownCore& core) {
    const auto cpu = read_cpu_geometry(library, core.folder);
    if (!cpu) return;
    for (const CacheGeometry& cache : cpu->caches) {
        if (cache.level == 1)
            (cache.kind == Holds::instruction ? core.l1_instruction_bytes : core.l1_data_bytes) = cache.size_bytes;
        if (cache.level == 2) core.l2_bytes = cache.size_bytes;
    }
}

}  // namespace

Result<NearestCore> nearest_core(const CoreChoice& choice, const machine::Host& cpu) {
    for (const auto& relative : choice.relatives)
        if (metrics::cpuid_matches(relative.pattern, cpu.cpu_id)) return NearestCore{relative.core, relative.why};
    const auto* vendor = vendor_of(choice, cpu.cpu_id);
    const KnownCore* const nearest = least_distant(choice, vendor, cpu);
    if (!nearest)
        return fail(ErrorCode::unavailable,
                    fmt::format("no known core has the instruction set of this CPU ({})", cpu.cpu_id));
    return NearestCore{nearest->folder, vendor ? "the nearest core of its vendor by features and caches"
                                               : "the nearest core of any vendor by features and caches"};
}

namespace {

/// Without the sizes of the cores' caches, which are in many files.
Result<CoreChoice> read_choice_file(const Library& library) {
    auto file = TRY(read_data_as<ChoiceFile>(library, "nearest.json"));
    return CoreChoice{std::move(file.relatives), std::move(file.vendors), std::move(file.cores),
                      file.distances.missing,    file.distances.extra,    file.distances.cache,
                      file.impossible_features};
}

}  // namespace

Result<CoreChoice> read_core_choice(const Library& library) {
    auto choice = TRY(read_choice_file(library));
    for (KnownCore& core : choice.cores) read_caches(library, core);
    return choice;
}

std::vector<std::string> impossible_features(const CoreChoice& choice, const std::string& folder,
                                             const machine::Host& cpu) {
    const auto named = std::ranges::find(choice.cores, folder, &KnownCore::folder);
    if (named == choice.cores.end()) return {};
    std::set<std::string> impossible;
    for (const KnownCore& core : choice.cores) {
        if (core.vendor != named->vendor) continue;
        for (const std::string& feature : core.features)
            if (std::ranges::find(named->features, feature) == named->features.end() &&
                machine::has_feature(cpu, feature))
                impossible.insert(feature);
    }
    return {impossible.begin(), impossible.end()};
}

namespace {

/// A core of the vendor's that fits the CPU's features, where these contradict the named one's.
struct Contradiction {
    std::string folder;
    std::vector<std::string> features;
};

Result<std::optional<Contradiction>> contradiction(const Library& library, const std::string& named,
                                                   const machine::Host& cpu) {
    auto choice = TRY(read_choice_file(library));
    auto features = impossible_features(choice, named, cpu);
    if (features.size() < choice.impossible_features) return std::nullopt;
    for (KnownCore& core : choice.cores) read_caches(library, core);
    const KnownCore* const nearest = least_distant(choice, vendor_of(choice, cpu.cpu_id), cpu);
    if (!nearest || nearest->folder == named) return std::nullopt;
    return Contradiction{nearest->folder, std::move(features)};
}

}  // namespace

Result<std::string> folder_by_features(const Library& library, const std::string& named, const machine::Host& cpu) {
    const auto other = TRY(contradiction(library, named, cpu));
    return other ? other->folder : named;
}

Result<std::optional<OtherCore>> other_core_than_named(const Library& library, const Table& named,
                                                       const machine::Host& cpu) {
    auto other = TRY(contradiction(library, named.folder, cpu));
    if (!other) return std::nullopt;
    const auto table = TRY(load(library, other->folder));
    return OtherCore{other->folder, table.title, named.title, std::move(other->features)};
}

Result<StandIn> stand_in_for(const Library& library, const machine::Host& cpu) {
    const auto choice = TRY(read_core_choice(library));
    auto nearest = TRY(nearest_core(choice, cpu));
    // A foreign tree need not have that core.
    auto known = load(library, nearest.core);
    if (!known && library.directory) known = load({}, nearest.core);
    if (!known) return pass_on(known);
    StandIn stand_in{{}, std::move(nearest)};
    Table& table = stand_in.table;
    table.cpu_id = known->cpu_id;
    table.folder = known->folder;
    table.title = known->title;
    table.format = known->format;
    table.source = "tmaprobe: the model's own tree";
    table.kernel_events = std::move(known->kernel_events);
    TRY(add_model_tree(library, table));
    return stand_in;
}

}  // namespace tmaprobe::events
