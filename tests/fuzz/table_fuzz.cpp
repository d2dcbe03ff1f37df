// Any text as a file of a CPU's folder, of every format: refused with a place, or a table whose events
// resolve to what they are.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "events/library.h"
#include "events/schema.h"
#include "metrics/formulas.h"

using namespace tmaprobe;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void refused_properly(const Error& error) {
    require(error.code == ErrorCode::bad_input && error.what.find("fuzzed") != std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const events::TableFile file{"fuzzed", std::string(reinterpret_cast<const char*>(data), size)};
    events::StandardRows standard;
    if (const auto read = events::read_standard_file(file, standard); !read) refused_properly(read.error());
    for (const auto format :
         {events::PmuFormat::intel, events::PmuFormat::amd, events::PmuFormat::arm, events::PmuFormat::other}) {
        events::Table table;
        table.format = format;
        if (const auto read = events::read_table_file(file, standard, table); !read) {
            refused_properly(read.error());
            continue;
        }
        for (const auto& metric : table.metrics) require(!metric.expression.empty());
        if (const auto formulas = metrics::Formulas::compile(table.metrics, {}))
            for (const std::string& event : formulas->events_needed({})) (void)events::resolve(table, event);
    }
    if (const auto rows = events::parse_map("fuzzed", file.text, ""); !rows) refused_properly(rows.error());
    return 0;
}
