#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/json/read.h"
#include "events/library.h"
#include "events/table.h"

namespace tmaprobe::events {

/// The rows of a data file of events/ that holds a list of them. Errors: bad_input with the file and what is wrong
/// there; those of read_data.
template <json::Described Row>
Result<std::vector<Row>> read_rows(const Library& library, const char* file) {
    const auto text = read_data(library, file);
    if (!text) return pass_on(text);
    const std::string label = label_of(library, file);
    const auto document = json::parse(*text, label);
    if (!document) return pass_on(document);
    std::vector<Row> rows;
    std::string problem;
    json::read(json::Node(document->root(), problem), rows);
    if (!problem.empty()) return fail(ErrorCode::bad_input, fmt::format("{}: {}", label, problem));
    return rows;
}

}  // namespace tmaprobe::events
