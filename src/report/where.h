#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "record/where.h"

namespace tmaprobe::report {

/// How the places that take the slots are to be shown.
struct WhereView {
    record::PlaceKind by = record::PlaceKind::function;
    std::size_t top = 10;                                     ///< rows
    std::string annotate;                                     ///< a function whose instructions are to be shown
    std::map<std::string, std::vector<std::string>> sources;  ///< lines of source files, by the name in the record
    std::set<std::string> newer_sources;                      ///< those that changed after their program was built
};

/// What stands after the last slash.
std::string base_name(const std::string& path);

/// Of a kind.
const std::vector<record::CodePlace>& places_of(const record::Where& where, record::PlaceKind kind);

/// Loops, each before those in it, and what is in none: the most slots first, those of inner loops among them.
std::vector<const record::CodePlace*> loops_in_order(const record::Where& where);

/// "parse_value (json.c:210-233)", "twice (s.c:2), inlined into main", "libc.so.6+0x1234".
std::string place_text(const record::CodePlace& place, record::PlaceKind kind);

/// What a place is bound by, in a sentence, and what to do about it.
struct PlaceFinding {
    std::string sentence, next;
};
PlaceFinding finding_of(const record::Where& where, const record::CodePlace& function);

/// Functions that samples met more often than the model has them, by more than both bounds: in a sentence each.
std::vector<std::string> missed_by_the_model(const record::Where& where);

/// What the measured shares are of; empty where nothing was measured.
std::string words_of_samples(const record::Where& where);

/// Instructions of a function by address, also those that were inlined into it. The name may leave out parameters.
std::vector<const record::CodePlace*> instructions_of(const record::Where& where, const std::string& function);

/// Whether a function of that name is the one meant: parameters, and what a compiler added, may be left out.
bool is_called(const std::string& function, const std::string& name);

/// The annotated function, or those that a page shows the code of: names, the hottest first.
std::vector<std::string> hottest_functions(const record::Where& where, const WhereView& view);

/// "37 cycles a load, 12% miss; 8% mispredicted"; empty where there is nothing to say.
std::string words_of(const record::InstructionCounts& counts);

/// Lines of which it was asked what they would win, the most worth first.
std::vector<const record::CodePlace*> lines_with_gains(const record::Where& where);

/// A cause or a group of causes, as a reader knows it: "mispredicted branches".
std::string words_of_most_slots(const record::CauseSlots& slots);

}  // namespace tmaprobe::report
