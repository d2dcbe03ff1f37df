#include "base/json/node.h"

#include <fmt/format.h>

namespace tmaprobe::json {

Node Node::at(std::string_view key) const {
    if (!value_.is_object()) complain("is not an object");
    const Node node(value_.at(key), *this, key, 0);
    if (node.value_.missing()) node.complain("is missing");
    return node;
}

std::string Node::text() const {
    const auto given = value_.text();
    if (!given) complain("is not a string");
    return std::string(given.value_or(""));
}

double Node::number() const {
    const auto given = value_.number();
    if (!given) complain("is not a number");
    return given.value_or(0);
}

bool Node::flag() const {
    const auto given = value_.boolean();
    if (!given) complain("is not true or false");
    return given.value_or(false);
}

std::uint64_t Node::count() const {
    const auto given = value_.count();
    if (!given) complain("is not a whole number of 0 or more");
    return given.value_or(0);
}

std::int64_t Node::integer() const {
    const auto given = value_.integer();
    if (!given) complain("is not a whole number");
    return given.value_or(0);
}

void Node::complain(std::string_view what) const {
    if (problem_->empty()) *problem_ = fmt::format("{} {}", from_ ? path() : "the text", what);
}

std::string Node::path() const {
    if (!from_) return {};
    const std::string before = from_->path();
    if (key_.empty()) return fmt::format("{}[{}]", before, index_);
    return before.empty() ? std::string(key_) : fmt::format("{}.{}", before, key_);
}

}  // namespace tmaprobe::json
