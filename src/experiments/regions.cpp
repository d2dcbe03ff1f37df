#include "experiments/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "process/region_page.h"
#include "symbols/function_places.h"

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

/// As mappings name it.
std::string real_path(const std::string& file) {
    std::error_code unknown;
    const auto path = fs::canonical(file, unknown);
    return unknown ? file : path.string();
}

Result<model::FunctionRegion> function_region(const std::string& wish, const std::vector<std::string>& program) {
    std::string file = program.empty() ? "" : process::program_file(program.front()), symbol = wish;
    // FILE:SYMBOL, where the file is there; C++ names have colons, too.
    for (auto colon = wish.find(':'); colon != std::string::npos; colon = wish.find(':', colon + 1)) {
        std::error_code unknown;
        if (!fs::is_regular_file(wish.substr(0, colon), unknown)) continue;
        file = wish.substr(0, colon);
        symbol = wish.substr(colon + 1);
        break;
    }
    if (file.empty())
        return fail(ErrorCode::bad_usage, "--region " + wish + " does not say which file the function is in",
                    "of a process that runs already: --region FILE:SYMBOL");
    const auto functions = symbols::functions_of(file);
    if (!functions) return fail(ErrorCode::bad_usage, "--region " + wish + ": " + functions.error().what);
    model::FunctionRegion region{symbol, {}};
    for (const symbols::FunctionPlace& function : *functions) {
        const std::string called = symbols::without_parameters(function.name);
        if (symbol != function.linker_name && symbol != function.name && symbol != called) continue;
        region.places.push_back({real_path(file), function.offset, function.bytes, 0});
    }
    if (region.places.empty()) {
        std::vector<std::string> names;
        for (const auto& function : *functions) names.push_back(symbols::without_parameters(function.name));
        const std::string near = suggest(symbol, names);
        return fail(ErrorCode::bad_usage,
                    fmt::format("{} has no function called '{}' among its {} symbols", file, symbol, functions->size()),
                    !near.empty() ? near
                    : functions->empty()
                        ? "it has no symbols (stripped?)"
                        : "one that is inlined everywhere has none; of a library: --region FILE:SYMBOL");
    }
    return region;
}

std::string words_for(record::RegionMisuse misuse) {
    switch (misuse) {
        case record::RegionMisuse::end_without_begin:
            return "ended without a begin on that thread, which did nothing";
        case record::RegionMisuse::not_ended:
            return "still open when the region around it ended, and ended with it";
        case record::RegionMisuse::open_at_the_end:
            return "still open at the end of its thread or process: what was never ended counts up to the end of the "
                   "command where it is the command's own process, else not at all";
    }
    return {};
}

void add_warnings(const record::Regions& regions, std::vector<record::Warning>& warnings) {
    for (const record::Region& region : regions.list)
        for (const record::RegionMistake& mistake : region.mistakes)
            warnings.push_back({"region_marks",
                                fmt::format("region {}: {} {} {}", region.name, mistake.times,
                                            mistake.times == 1 ? "time" : "times", words_for(mistake.what)),
                                "docs/regions.md says how marks belong together"});
    const auto no_room = [&](std::uint64_t times, const char* what) {
        if (times)
            warnings.push_back({"region_marks", fmt::format("{} begins of regions {} were left out", times, what), ""});
    };
    no_room(regions.too_many, "beyond the 128 that there is room for");
    no_room(regions.too_deep, "more than 120 deep in one another");
    no_room(regions.no_room_for, "of threads beyond the 512 that there is room for");
}

}  // namespace

Result<model::RegionWish> region_wish(const CountingRequest& request) {
    using Marks = RegionRequest::Marks;
    model::RegionWish wish;
    const auto& program = request.region_program;
    wish.marks =
        request.regions.marks == Marks::listen ||
        (request.regions.marks == Marks::if_there && !program.empty() && process::has_region_marks(program.front()));
    for (const std::string& function : request.regions.functions)
        wish.functions.push_back(TRY(function_region(function, program)));
    return wish;
}

Result<record::Regions> regions_of(const Setup& setup, const counters::RegionSamples& samples,
                                   judge::AssessRequest assessment, std::vector<record::Warning>& warnings) {
    record::Regions regions = samples.known;
    for (std::size_t i = 0; i < regions.list.size(); ++i) {
        if (samples.events[i].events.empty()) continue;
        assessment.repetitions.clear();
        assessment.variations = samples.events[i].variations;
        regions.list[i].metrics = TRY(judge::assess(*setup.table, samples.events[i].events, assessment));
    }
    add_warnings(regions, warnings);
    return regions;
}

void add_regions_of_source(record::Regions more, std::optional<record::Regions>& regions) {
    if (!regions) {
        regions = std::move(more);
        return;
    }
    for (record::Region& region : more.list)
        if (region.kind == record::RegionKind::function) regions->list.push_back(std::move(region));
}

}  // namespace tmaprobe::experiments
