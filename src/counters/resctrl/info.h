#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::counters::resctrl {

/// Where the kernel's documentation (Documentation/filesystems/resctrl.rst) mounts it.
inline constexpr const char* usual_root = "/sys/fs/resctrl";

/// A cache that can be partitioned by bitmap: one of info/L3, L2, L3CODE, L3DATA, ...
struct CacheControl {
    std::string name;        ///< as in a schemata line
    std::uint64_t mask = 0;  ///< all bits that a bitmap may have (info/<name>/cbm_mask)
    int least_bits = 1;      ///< info/<name>/min_cbm_bits
    bool sparse = false;     ///< bitmaps with holes are allowed (info/<name>/sparse_masks)
    int groups = 0;          ///< how many groups the hardware holds (num_closids)
};

/// Memory bandwidth control: info/MB.
struct BandwidthControl {
    int least = 0;        ///< info/MB/min_bandwidth
    int step = 1;         ///< info/MB/bandwidth_gran
    int most = 100;       ///< 100 where the unit is percent, else the value of the default group, at least what all AMD
                          ///< processors have
    bool percent = true;  ///< false: MBps (mount option mba_MBps) or AMD's eighths of GB/s
    bool unlimited = false;  ///< MBps without an upper end (mba_MBps)
    int groups = 0;
};

/// What the hardware and the kernel offer, as info/ and the default group say.
struct Info {
    std::filesystem::path root;
    std::vector<CacheControl> caches;
    std::optional<BandwidthControl> bandwidth;
    std::vector<std::string> monitors;  ///< info/L3_MON/mon_features: "llc_occupancy", "mbm_total_bytes", ...
    std::string default_schemata;       ///< of the root group: its lines name the domains
    bool code_data = false;             ///< CDP: code and data have bitmaps of their own
};

/// Reads info/. Errors: unavailable when it is not mounted or not supported (says which, and how to
/// mount it), no_permission when it cannot be written.
Result<Info> read_info(const std::filesystem::path& root);

/// A limit for one group, as the user writes it: "l3=0x3,mb=20".
struct Limit {
    std::optional<std::uint64_t> cache_mask;
    std::optional<int> bandwidth;
};

/// Errors: bad_usage.
Result<Limit> parse_limit(const std::string& text);

/// What the kernel makes of a bandwidth that is no multiple of the step: the next one above.
int bandwidth_given(const BandwidthControl& control, int asked);

/// The schemata lines that put the limit on every domain. Errors: bad_usage for what this hardware does
/// not take (bits outside the mask, no bits, too few, holes, bandwidth out of range), with what it takes;
/// unavailable for a control that it lacks.
Result<std::string> schemata_for(const Info& info, const Limit& limit);

}  // namespace tmaprobe::counters::resctrl
