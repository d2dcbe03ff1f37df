#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "record/record.h"
#include "report/where.h"

namespace tmaprobe::cli {

/// How the places that take the slots are to be shown, in the words of the command line.
struct WhereWords {
    std::string by = "function", annotate;
    int top = 10;
    std::vector<std::string> source_folders;
};

/// Registers --by, --top, --annotate and --source-dir.
void add_where_options(CommandLine command, WhereWords& words);

/// With the source files that a format shows, of the annotated function or of the hottest ones, as far as they are
/// found: by their path, or below a --source-dir by as much of the path's end as is there.
report::WhereView where_view(const WhereWords& words, const std::vector<record::Record>& records,
                             const std::string& format);

}  // namespace tmaprobe::cli
