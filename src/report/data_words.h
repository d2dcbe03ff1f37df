#pragma once

#include <string>

#include "record/where.h"

namespace tmaprobe::report {

/// What a piece of memory is: "table (table.c:6, 128M)", "heap, 64M", "blocks from parse_value (json.c:217), 48M".
std::string data_text(const record::DataPlace& place);

/// Of blocks, with the functions that led there: "48M in 3 blocks from parse_value (json.c:217) < main (json.c:300)".
/// What of a language's own library lies between is named by its outermost function alone.
std::string blocks_text(const record::DataPlace& place);

/// "parse_value (json.c:217)", "program+0x1234"; of C++ without template arguments and parameters.
std::string function_text(const record::AllocatingFunction& function);

/// "std::vector<int>::push_back(int&&)" as "std::vector::push_back".
std::string without_arguments(const std::string& function);

/// The code that waits for it most: ", at json.c:20", ", in parse"; empty where none is known.
std::string code_text(const record::DataPlace& place);

}  // namespace tmaprobe::report
