#include "base/json_dump.h"

#include <nlohmann/json.hpp>

namespace tmaprobe {
namespace {

constexpr auto on_no_utf8 = nlohmann::json::error_handler_t::replace;
constexpr int one_line = -1, one_blank = 1;

}  // namespace

std::string dump_line(const nlohmann::json& value) { return value.dump(one_line, ' ', false, on_no_utf8); }

std::string dump_ascii_line(const nlohmann::json& value) { return value.dump(one_line, ' ', true, on_no_utf8); }

std::string dump_indented(const nlohmann::json& value) { return value.dump(one_blank, ' ', false, on_no_utf8) + "\n"; }

}  // namespace tmaprobe
