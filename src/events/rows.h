#pragma once

#include <string>
#include <vector>

#include "base/json/read_text.h"
#include "events/library.h"
#include "events/table.h"

namespace tmaprobe::events {

/// The rows of a data file of events/ that holds a list of them. Errors: bad_input with the file and what is wrong
/// there; those of read_data.
template <json::Described Row>
Result<std::vector<Row>> read_rows(const Library& library, const char* file) {
    const auto text = TRY(read_data(library, file));
    return json::read_text<std::vector<Row>>(text, label_of(library, file));
}

}  // namespace tmaprobe::events
