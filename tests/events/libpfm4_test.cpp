// Every table encoding that libpfm4 knows under a name of its own must be the same there. Where the two
// disagree, libpfm4_disagreements.json says why; the tables are the authority for metrics.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "events/libpfm.h"
#include "events/table.h"

namespace tmaprobe::events {
namespace {

/// AMD's events have names of their own there.
const std::map<std::string, std::string> amd_names = {
    {"ex_ret_ops", "RETIRED_OPS"},
    {"ex_ret_ucode_ops", "RETIRED_UCODE_OPS"},
    {"ex_ret_instr", "RETIRED_INSTRUCTIONS"},
    {"ls_not_halted_cyc", "CYCLES_NOT_IN_HALT"},
    {"ex_ret_brn_misp", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"},
    {"de_no_dispatch_per_slot.no_ops_from_frontend", "DISPATCH_STALLS_1:FE_NO_OPS"},
    {"de_no_dispatch_per_slot.backend_stalls", "DISPATCH_STALLS_1:BE_STALLS"},
    {"de_no_dispatch_per_slot.smt_contention", "DISPATCH_STALLS_1:SMT_CONTENTION"},
    {"ls_l1_d_tlb_miss.all", "L1_DTLB_MISS:0xff"}};

/// "A.B.C" of Intel's tables is "A:B_C" there.
std::string libpfm_name(const std::string& name) {
    if (const auto amd = amd_names.find(name); amd != amd_names.end()) return amd->second;
    const std::size_t dot = name.find('.');
    if (dot == name.npos) return name;
    std::string mapped = name.substr(0, dot) + ":" + name.substr(dot + 1);
    std::ranges::replace(mapped, '.', '_');
    return mapped;
}

struct Reason {
    std::string why;
    bool used = false;
};

std::map<std::string, Reason> read_reasons() {
    std::ifstream file(std::string(TMAPROBE_SOURCE_DIR) + "/tests/events/libpfm4_disagreements.json");
    std::map<std::string, Reason> reasons;
    for (const auto& row : nlohmann::json::parse(file))
        for (const auto& event : row.at("events"))
            reasons[event.get<std::string>()].why = row.at("why").get<std::string>();
    return reasons;
}

TEST(Libpfm4, AgreesWithEveryTableEncodingItKnows) {
    auto reasons = read_reasons();
    const auto targets = known_targets({});
    ASSERT_TRUE(targets);
    std::size_t compared = 0, pmus = 0;
    for (const Target& target : *targets) {
        const auto table = load({}, target.folder);
        ASSERT_TRUE(table) << table.error().what;
        if (table->libpfm4_pmu.empty()) continue;
        // A build of libpfm4 knows the CPUs of its own architecture.
        if (!libpfm_has_pmu(table->libpfm4_pmu)) continue;
        ++pmus;
        for (const EventDefinition& event : table->events) {
            const auto other = encode_with_libpfm(table->libpfm4_pmu + "::" + libpfm_name(event.name));
            if (!other) continue;  // not known there under this name
            ++compared;
            if (other->config == event.config && other->config1 == event.config1) continue;
            const std::string key = table->libpfm4_pmu + "::" + event.name;
            const auto reason = reasons.find(key);
            EXPECT_NE(reason, reasons.end()) << "\"" << key << "\": table " << std::hex << event.config << ","
                                             << event.config1 << ", libpfm4 " << other->config << "," << other->config1;
            if (reason != reasons.end()) reason->second.used = true;
        }
    }
    RecordProperty("compared", static_cast<int>(compared));
    std::cout << compared << " encodings compared\n";
    if (pmus < 15) GTEST_SKIP() << "this libpfm4 knows " << pmus << " of the tables' CPUs only";
    EXPECT_GT(compared, 1500u);
    for (const auto& [key, reason] : reasons)
        EXPECT_TRUE(reason.used) << key << " agrees by now: take it off the list (" << reason.why << ")";
}

}  // namespace
}  // namespace tmaprobe::events
