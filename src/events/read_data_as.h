#pragma once

#include <string>
#include <vector>

#include "base/json/read_text.h"
#include "events/library.h"
#include "events/table.h"

namespace tmaprobe::events {

/// What a data file of events/ holds, read as a T. Errors: bad_input with the file and what is wrong there; those of
/// read_data.
template <class T>
Result<T> read_data_as(const Library& library, const char* file) {
    const auto text = TRY(read_data(library, file));
    return json::read_text<T>(text, label_of(library, file));
}

/// The rows of a file that holds a list of them. Errors: as read_data_as.
template <json::Described Row>
Result<std::vector<Row>> read_rows(const Library& library, const char* file) {
    return read_data_as<std::vector<Row>>(library, file);
}

}  // namespace tmaprobe::events
