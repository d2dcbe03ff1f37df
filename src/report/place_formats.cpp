// Places in the code in the formats of other tools: what each is is said where it is written.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "base/json/writer.h"
#include "report/formats.h"
#include "report/place_formats.h"
#include "report/place_stacks.h"
#include "report/protobuf.h"
#include "report/text.h"
#include "report/where.h"
#include "report/whole_slots.h"

namespace tmaprobe::report {
namespace {

using record::CauseSlots;
using record::CodePlace;
using record::Where;

std::vector<PlaceStack> shown_stacks(const Where& where, const WhereView& view) {
    return view.by == record::PlaceKind::data ? stacks_of_data(where) : stacks_of(where);
}

}  // namespace

std::string module_text(const std::string& module) {
    return module.empty() ? "code made while it ran" : clean(base_name(module));
}

std::string function_of(const CodePlace& place) {
    if (!place.function.empty()) return clean(place.function);
    return fmt::format("{}+{:#x}", module_text(place.module), place.address);
}

std::string write_folded(const Records& records, const WhereView& view) {
    std::string text;
    WholeSlots whole;
    for_each_where(records, [&](const Where& where) {
        for (const PlaceStack& stack : shown_stacks(where, view)) {
            const std::uint64_t count = whole.next(stack.slots);
            if (!count) continue;
            for (std::string frame : stack.frames) {
                std::ranges::replace(frame, ';', ':');
                text += frame + ";";
            }
            text += fmt::format("{} {}\n", stack.cause, count);
        }
    });
    return text;
}

std::string write_speedscope(const Records& records, const WhereView& view) {
    std::map<std::string, std::size_t> numbers;
    std::vector<std::string> frames;
    const auto number = [&](const std::string& frame) {
        const auto [known, is_new] = numbers.try_emplace(frame, frames.size());
        if (is_new) frames.push_back(frame);
        return known->second;
    };
    struct Profile {
        std::vector<std::vector<std::size_t>> samples;
        std::vector<double> weights;
        double all = 0;
    };
    std::vector<Profile> profiles;
    for_each_where(records, [&](const Where& where) {
        Profile& profile = profiles.emplace_back();
        for (const PlaceStack& stack : shown_stacks(where, view)) {
            auto& sample = profile.samples.emplace_back();
            for (const std::string& frame : stack.frames) sample.push_back(number(frame));
            sample.push_back(number(stack.cause));
            profile.weights.push_back(stack.slots);
            profile.all += stack.slots;
        }
    });
    json::Writer writer;
    writer.begin_object();
    writer.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    writer.member("exporter", "tmaprobe");
    writer.member(
        "name", view.by == record::PlaceKind::data ? "waits for memory by data and cause" : "slots by place and cause");
    writer.key("shared");
    writer.begin_object();
    writer.key("frames");
    writer.begin_array();
    for (const std::string& frame : frames) {
        writer.begin_object();
        writer.member("name", frame);
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    writer.key("profiles");
    writer.begin_array();
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        writer.begin_object();
        writer.member("type", "sampled");
        writer.member("name", fmt::format("slots, run {}", i + 1));
        writer.member("unit", "none");
        writer.member("startValue", 0.0);
        writer.member("endValue", profiles[i].all);
        writer.member("samples", profiles[i].samples);
        writer.member("weights", profiles[i].weights);
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    return writer.take();
}

/// profile.proto of github.com/google/pprof: a sample is a line with the functions that were called to come there, or,
/// of a record without callers, an instruction with what is inlined there; its values are all slots, and those of each
/// cause.
std::string write_pprof(const Records& records, const WhereView&) {
    const auto causes = causes_of(records);
    std::map<std::string, std::uint64_t> strings{{"", 0}};
    std::vector<std::string> table{""};
    const auto text = [&](const std::string& given) {
        const auto [known, is_new] = strings.try_emplace(given, table.size());
        if (is_new) table.push_back(given);
        return known->second;
    };
    Protobuf profile, functions, mappings, locations, samples;
    const auto value_type = [&](const std::string& name) {
        return Protobuf().number(1, text(name)).number(2, text("slots")).bytes();
    };
    profile.bytes(1, value_type("slots"));
    for (const std::string& cause : causes) profile.bytes(1, value_type(cause));
    std::map<std::pair<std::string, std::string>, std::uint64_t> function_numbers;
    const auto function = [&](const std::string& name, const std::string& file) {
        const auto [known, is_new] = function_numbers.try_emplace({name, file}, function_numbers.size() + 1);
        if (is_new)
            functions.bytes(5, Protobuf()
                                   .number(1, known->second)
                                   .number(2, text(name))
                                   .number(3, text(name))
                                   .number(4, text(file))
                                   .bytes());
        return known->second;
    };
    std::map<std::string, std::uint64_t> mapping_numbers;
    const auto mapping = [&](const std::string& module) {
        const auto [known, is_new] = mapping_numbers.try_emplace(module, mapping_numbers.size() + 1);
        // All that its symbols say is known: nobody needs to look it up again.
        if (is_new)
            mappings.bytes(3, Protobuf()
                                  .number(1, known->second)
                                  .number(3, ~std::uint64_t{0} >> 1)
                                  .number(5, text(module))
                                  .number(7, 1)
                                  .number(8, 1)
                                  .number(9, 1)
                                  .number(10, 1)
                                  .bytes());
        return known->second;
    };
    std::uint64_t next_location = 1;
    WholeRow row(causes);
    const auto add = [&](const CauseSlots& slots, const std::vector<std::uint64_t>& innermost_first) {
        samples.bytes(2, Protobuf().packed(1, innermost_first).packed(2, row.next(slots)).bytes());
    };
    std::map<std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>, std::uint64_t> of_calls;
    const auto location_of = [&](const record::CallPlace& place) {
        const auto [known, is_new] =
            of_calls.try_emplace({place.module, place.function, place.address, place.line}, next_location);
        if (!is_new) return known->second;
        CodePlace named;
        named.module = place.module;
        named.function = place.function;
        named.address = place.address;
        locations.bytes(
            4,
            Protobuf()
                .number(1, next_location)
                .number(2, mapping(module_of(named)))
                .bytes(
                    4,
                    Protobuf().number(1, function(function_of(named), clean(place.file))).number(2, place.line).bytes())
                .bytes());
        return next_location++;
    };
    const auto add_calls = [&](const Where& where) {
        for (const record::CallPlace& place : where.calls) {
            if (place.slots.empty()) continue;
            std::vector<std::uint64_t> innermost_first;
            const auto caller_of = [&](const record::CallPlace& one) {
                return one.caller && *one.caller < where.calls.size() ? &where.calls[*one.caller] : nullptr;
            };
            for (const auto* one = &place; one; one = caller_of(*one)) {
                innermost_first.push_back(location_of(*one));
                if (one->line) one = caller_of(*one);  // the function that the line is of
                if (!one) break;
            }
            add(place.slots, innermost_first);
        }
    };
    for_each_where(records, [&](const Where& where) {
        if (!where.calls.empty()) return add_calls(where);
        for (const CodePlace& one : where.instructions) {
            if (one.slots.empty()) continue;
            Protobuf location;
            location.number(1, next_location).number(2, mapping(module_of(one))).number(3, one.address);
            const auto line = [&](const std::string& name, std::uint64_t number) {
                location.bytes(4, Protobuf().number(1, function(name, clean(one.file))).number(2, number).bytes());
            };
            line(function_of(one), one.first_line);
            if (!one.inlined_into.empty()) line(clean(one.inlined_into), 0);
            locations.bytes(4, location.bytes());
            add(one.slots, {next_location++});
        }
        if (where.further_instructions.empty()) return;
        locations.bytes(4, Protobuf()
                               .number(1, next_location)
                               .bytes(4, Protobuf().number(1, function(further_places, "")).bytes())
                               .bytes());
        add(where.further_instructions, {next_location++});
    });
    profile.add(samples).add(mappings).add(locations).add(functions);
    for (const std::string& one : table) profile.bytes(6, one);
    profile.number(14, 1);  // the default of the sample types: "slots", the first string
    return profile.bytes();
}

}  // namespace tmaprobe::report
