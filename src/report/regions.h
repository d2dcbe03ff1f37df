#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

/// Rows of cells; the first are headings.
using RegionTable = std::vector<std::vector<std::string>>;

/// A row for each region: how often, how long, its share, rates; and what is in no region. Columns that no region has
/// anything for are left out.
RegionTable region_rows(const record::Regions& regions);

/// The regions' trees side by side: a column for each region that has one, a row for each metric that says anything.
/// None: no region has a tree.
RegionTable region_trees(const record::Regions& regions);

/// Why regions have no tree.
std::vector<std::string> region_reasons(const record::Regions& regions);

/// The same as headings, sentences and tables in Markdown; empty: there are no regions.
std::string regions_markdown(const record::Run& run);

/// A section of a page for each run that has regions.
std::string region_sections(const std::vector<record::Record>& records);

}  // namespace tmaprobe::report
