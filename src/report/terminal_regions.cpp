#include <fmt/format.h>

#include "report/regions.h"
#include "report/screen.h"

namespace tmaprobe::report {

void show_regions(Screen& screen, const record::Run& run) {
    if (!run.extra.regions) return;
    const record::Regions& regions = *run.extra.regions;
    const auto show = [&](RegionTable rows) {
        if (rows.size() < 2) return;
        for (auto& row : rows)
            for (auto& cell : row) cell = screen.say(cell);
        screen.line();
        screen.table(rows);
    };
    if (regions.list.empty()) {
        screen.line();
        screen.entry("Regions", "none was entered");
        return;
    }
    show(region_rows(regions));
    show(region_trees(regions));
    for (const auto& reason : region_reasons(regions)) screen.entry("", reason, 2);
}

}  // namespace tmaprobe::report
