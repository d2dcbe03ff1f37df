#include "cli/region_words.h"

namespace tmaprobe::cli {

void add_region_options(CommandLine app, RegionWords& words) {
    app.add_flag("--regions", words.listen,
                 "Listen to marks of tmaprobe/region.h; default: where the program's own file has some");
    app.add_flag("--no-regions", words.ignore, "Leave marks alone");
    app.add_option("--region", words.functions,
                   "Take a function as a region, from its entry to its return; may be repeated")
        .allow_extra_args(false)
        .type_name("[FILE:]SYMBOL");
}

Result<experiments::RegionRequest> region_request(const RegionWords& words) {
    using Marks = experiments::RegionRequest::Marks;
    if (words.listen && words.ignore)
        return fail(ErrorCode::bad_usage, "--regions and --no-regions exclude each other");
    return experiments::RegionRequest{words.listen   ? Marks::listen
                                      : words.ignore ? Marks::ignore
                                                     : Marks::if_there,
                                      words.functions};
}

}  // namespace tmaprobe::cli
