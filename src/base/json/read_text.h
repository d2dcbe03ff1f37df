#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/json/read.h"

namespace tmaprobe::json {

/// The value of a type with a place in JSON (see read()) that a whole text holds. Errors: bad_input
/// "name:line:column: ..." for what is no JSON, else "name: way.to.the[0].value is ...".
template <class T>
Result<T> read_text(std::string_view text, std::string_view name) {
    const auto document = TRY(parse(text, name));
    T value{};
    std::string problem;
    read(Node(document.root(), problem), value);
    if (!problem.empty()) return fail(ErrorCode::bad_input, fmt::format("{}: {}", name, problem));
    return value;
}

}  // namespace tmaprobe::json
