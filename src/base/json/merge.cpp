#include "base/json/merge.h"

namespace tmaprobe::json {

void write_value(Writer& writer, Value value) {
    switch (value.kind()) {
        case Value::Kind::missing:
        case Value::Kind::null:
            return writer.null();
        case Value::Kind::boolean:
            return writer.boolean(*value.boolean());
        case Value::Kind::count:
            return writer.count(*value.count());
        case Value::Kind::negative:
            return writer.integer(*value.integer());
        case Value::Kind::number:
            return writer.number(*value.number());
        case Value::Kind::text:
            return writer.text(*value.text());
        case Value::Kind::array:
            writer.begin_array();
            for (const Value element : value) write_value(writer, element);
            return writer.end_array();
        case Value::Kind::object:
            writer.begin_object();
            for (const Value member : value) {
                writer.key(member.key());
                write_value(writer, member);
            }
            return writer.end_object();
    }
}

void write_merged(Writer& writer, Value base, Value patch, std::string_view left_out) {
    if (patch.missing()) return write_value(writer, base);
    if (!patch.is_object()) return write_value(writer, patch);
    const auto left = [&](std::string_view key) { return !left_out.empty() && key == left_out; };
    writer.begin_object();
    if (base.is_object())
        for (const Value member : base) {
            const Value change = patch.at(member.key());
            if (change.is_null() || left(member.key())) continue;
            writer.key(member.key());
            write_merged(writer, member, change);
        }
    for (const Value member : patch) {
        const bool done = member.is_null() || left(member.key()) || !base.at(member.key()).missing();
        if (done) continue;
        writer.key(member.key());
        write_merged(writer, {}, member);
    }
    writer.end_object();
}

}  // namespace tmaprobe::json
