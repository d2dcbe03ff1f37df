#include "record/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

/// No record nests deeper; one that does is hostile, and would exhaust the stack of whoever walks it.
constexpr int deepest_nesting = 64;

std::string text_of(const rapidjson::Value& value) { return {value.GetString(), value.GetStringLength()}; }

/// The same as a value of the record; `deep` is set where it nests too deeply, and the rest left out.
json open_value(const rapidjson::Value& value, int depth, bool& deep) {
    if (value.IsString()) return text_of(value);
    if (value.IsBool()) return value.GetBool();
    if (value.IsUint64()) return value.GetUint64();
    if (value.IsInt64()) return value.GetInt64();
    if (value.IsNumber()) return value.GetDouble();
    if (value.IsNull()) return nullptr;
    json content = value.IsArray() ? json::array() : json::object();
    if (depth >= deepest_nesting) return deep = true, content;
    if (value.IsArray())
        for (const auto& item : value.GetArray()) content.push_back(open_value(item, depth + 1, deep));
    else
        for (const auto& [key, item] : value.GetObject()) content.emplace(text_of(key), open_value(item, depth + 1, deep));
    return content;
}

}  // namespace

Node Node::at(const char* key) const {
    static const rapidjson::Value nothing;
    if (!value_->IsObject()) {
        complain("is not an object");
        return {nothing, *this, key, 0};
    }
    const auto found = value_->FindMember(key);
    const Node node(found == value_->MemberEnd() ? nothing : found->value, *this, key, 0);
    if (found == value_->MemberEnd()) node.complain("is missing");
    return node;
}

std::string Node::text() const {
    if (!value_->IsString()) return complain("is not a string"), "";
    return text_of(*value_);
}

std::string Node::choice(std::initializer_list<const char*> allowed) const {
    const std::string given = text();
    if (std::find(allowed.begin(), allowed.end(), given) == allowed.end())
        complain(fmt::format("is '{}'; {}", given, suggest(given, {allowed.begin(), allowed.end()})));
    return given;
}

double Node::number() const {
    if (!value_->IsNumber()) return complain("is not a number"), 0.0;
    return value_->GetDouble();
}

bool Node::flag() const {
    if (!value_->IsBool()) return complain("is not true or false"), false;
    return value_->GetBool();
}

std::uint64_t Node::count() const {
    if (!value_->IsUint64()) return complain("is not a whole number of 0 or more"), 0;
    return value_->GetUint64();
}

int Node::small_count() const {
    const std::uint64_t given = count();
    if (given > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return complain("is too large"), 0;
    return static_cast<int>(given);
}

json Node::object() const {
    if (!value_->IsObject()) return complain("is not an object"), json::object();
    return open();
}

json Node::open() const {
    bool deep = false;
    json content = open_value(*value_, 0, deep);
    if (deep) complain("is nested too deeply");
    return content;
}

void Node::complain(const std::string& what) const {
    if (problem_->empty()) *problem_ = (from_ ? path() : "the record") + " " + what;
}

std::string Node::path() const {
    if (!from_) return {};
    const std::string before = from_->path();
    if (!key_) return fmt::format("{}[{}]", before, index_);
    return before.empty() ? key_ : before + "." + key_;
}

}  // namespace tmaprobe::record
