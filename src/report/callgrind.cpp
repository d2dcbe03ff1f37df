// For KCachegrind and callgrind_annotate: instructions with what they take, and the calls that led there.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/formats.h"
#include "report/place_formats.h"
#include "report/text.h"
#include "report/whole_slots.h"

namespace tmaprobe::report {
namespace {

using record::CallPlace;
using record::CauseSlots;
using record::CodePlace;
using record::Where;

struct Function {
    std::string module, name;

    auto operator<=>(const Function&) const = default;
};

/// By what calls what: what the callee takes with all that it calls.
using Calls = std::map<Function, std::map<Function, CauseSlots>>;

Function function_called(const CallPlace& place) {
    CodePlace named;
    named.module = place.module;
    named.function = place.function;
    named.address = place.address;
    return {module_of(named), function_of(named)};
}

/// Of what calls itself by way of others only the outermost call counts: what is in it is in it once.
Calls calls_of(const Where& where) {
    Calls calls;
    const auto caller_of = [&](const CallPlace& place) {
        return place.caller && *place.caller < where.calls.size() ? &where.calls[*place.caller] : nullptr;
    };
    for (const CallPlace& place : where.calls) {
        if (place.slots.empty()) continue;
        std::set<std::pair<Function, Function>> seen;
        const CallPlace* callee = place.line ? caller_of(place) : &place;
        for (const CallPlace* caller; callee && (caller = caller_of(*callee)); callee = caller) {
            const auto call = std::pair(function_called(*caller), function_called(*callee));
            if (call.first == call.second || !seen.insert(call).second) continue;
            for (const auto& [cause, slots] : place.slots) calls[call.first][call.second][cause] += slots;
        }
    }
    return calls;
}

/// Where functions without a name begin, by module.
std::map<std::string, std::set<std::uint64_t>> unnamed_functions(const Where& where) {
    std::map<std::string, std::set<std::uint64_t>> begins;
    for (const CodePlace& one : where.functions)
        if (one.function.empty()) begins[one.module].insert(one.address);
    return begins;
}

class CallgrindWriter {
  public:
    explicit CallgrindWriter(const std::vector<std::string>& causes)
        : causes_(causes), own_(causes), sums_(causes.size() + 1) {
        text_ = "# callgrind format\nversion: 1\ncreator: tmaprobe\npositions: instr line\nevents: slots";
        for (const std::string& cause : causes) text_ += " " + cause;
        text_ += "\n";
    }

    void add(const Where& where) {
        struct Code {
            std::map<std::string, std::vector<const CodePlace*>> files;
            std::string main_file;
            double most = -1;
        };
        std::map<Function, Code> functions;
        const auto begins = unnamed_functions(where);
        for (const CodePlace& one : where.instructions) {
            if (one.slots.empty()) continue;  // it was only measured
            CodePlace named = one;
            if (const auto of_module = begins.find(one.module); one.function.empty() && of_module != begins.end())
                if (const auto after = of_module->second.upper_bound(one.address); after != of_module->second.begin())
                    named.address = *std::prev(after);
            // What is inlined is called where calls are known; else it is part of what was.
            if (where.calls.empty() && !one.inlined_into.empty()) named.function = one.inlined_into;
            Code& code = functions[{module_of(one), function_of(named)}];
            code.files[file_of(one)].push_back(&one);
        }
        const Calls calls = calls_of(where);
        for (const auto& [caller, callees] : calls) {
            functions[caller];
            for (const auto& [callee, slots] : callees) functions[callee];
        }
        for (auto& [function, code] : functions)
            for (const auto& [file, instructions] : code.files) {
                double slots = 0;
                for (const CodePlace* one : instructions) slots += record::sum_of(one->slots);
                if (slots > code.most) code.main_file = file;
                code.most = std::max(code.most, slots);
            }
        const auto main_file = [&](const Function& function) {
            const auto& file = functions.at(function).main_file;
            return file.empty() ? std::string(unknown_file) : file;
        };
        for (const auto& [function, code] : functions) {
            begin(function, main_file(function));
            for (const auto& [file, instructions] : code.files) {
                // Lines of other files that are in it: of a header, or of a macro.
                if (file != code.main_file) text_ += fmt::format("fi={}\n", file);
                for (const CodePlace* one : instructions)
                    text_ += fmt::format("{:#x} {}", one->address, one->first_line) + own_costs(one->slots);
                if (file != code.main_file) text_ += fmt::format("fe={}\n", code.main_file);
            }
            const auto called = calls.find(function);
            if (called == calls.end()) continue;
            for (const auto& [callee, slots] : called->second) {
                // How often, and from which line, is not known.
                text_ += fmt::format("cob={}\ncfi={}\ncfn={}\ncalls=0 0x0 0\n0x0 0", callee.module, main_file(callee),
                                     callee.name);
                for (const std::uint64_t cost : WholeRow(causes_).next(slots)) text_ += fmt::format(" {}", cost);
                text_ += "\n";
            }
        }
        if (where.further_instructions.empty()) return;
        begin({unknown_file, further_places}, unknown_file);
        text_ += "0x0 0" + own_costs(where.further_instructions);
    }

    std::string take() {
        text_ += "\ntotals:";
        for (const std::uint64_t sum : sums_) text_ += fmt::format(" {}", sum);
        return std::move(text_) + "\n";
    }

  private:
    static constexpr const char* unknown_file = "???";

    static std::string file_of(const CodePlace& place) { return place.file.empty() ? unknown_file : clean(place.file); }

    void begin(const Function& function, const std::string& file) {
        text_ += fmt::format("\nob={}\nfl={}\nfn={}\n", function.module, file, function.name);
    }

    std::string own_costs(const CauseSlots& slots) {
        std::string numbers;
        const auto whole = own_.next(slots);
        for (std::size_t i = 0; i < whole.size(); ++i) {
            numbers += fmt::format(" {}", whole[i]);
            sums_[i] += whole[i];
        }
        return numbers + "\n";
    }

    const std::vector<std::string>& causes_;
    WholeRow own_;
    std::vector<std::uint64_t> sums_;
    std::string text_;
};

}  // namespace

std::string write_callgrind(const Records& records, const WhereView&) {
    const auto causes = causes_of(records);
    CallgrindWriter writer(causes);
    for_each_where(records, [&](const Where& where) { writer.add(where); });
    return writer.take();
}

}  // namespace tmaprobe::report
