#include "machine/sysfs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/sizes.h"

namespace tmaprobe::machine {
namespace {

int to_int(const std::string& text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
    constexpr int most_cpus = 1 << 16;
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        int first = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc{} || first < 0) break;
        int last = first;
        if (read.ptr != end && *read.ptr == '-') {
            read = std::from_chars(read.ptr + 1, end, last);
            if (read.ec != std::errc{}) break;
        }
        for (int cpu = first; cpu <= std::min(last, most_cpus); ++cpu) cpus.push_back(cpu);
        at = read.ptr;
        if (at == end || *at != ',') break;
        ++at;
    }
    return cpus;
}

std::vector<Cache> sysfs_caches(const std::filesystem::path& sysfs, int cpu) {
    std::vector<Cache> caches;
    const auto folder = sysfs / "devices/system/cpu" / fmt::format("cpu{}", cpu) / "cache";
    for (int index = 0; index < 16; ++index) {
        const auto entry = folder / fmt::format("index{}", index);
        const std::string size = read_line(entry / "size");
        const auto bytes = parse_size(size);
        if (!bytes) {
            if (read_line(entry / "level").empty()) break;
            continue;  // some Arm firmware gives levels without sizes
        }
        Cache cache;
        cache.level = to_int(read_line(entry / "level"));
        cache.kind = lower(read_line(entry / "type"));
        cache.size_bytes = *bytes;
        if (const int line = to_int(read_line(entry / "coherency_line_size")); line > 0) cache.line_bytes = line;
        cache.ways = to_int(read_line(entry / "ways_of_associativity"));
        cache.shared_by =
            std::max<int>(1, static_cast<int>(parse_cpu_list(read_line(entry / "shared_cpu_list")).size()));
        cache.source = "sysfs";
        caches.push_back(cache);
    }
    return caches;
}

std::string sysfs_midr(const std::filesystem::path& sysfs) {
    const std::string text = read_line(sysfs / "devices/system/cpu/cpu0/regs/identification/midr_el1");
    if (text.empty()) return {};
    constexpr unsigned long long revision = 0xF, variant = 0xF << 20;
    return fmt::format("0x{:016x}", std::strtoull(text.c_str(), nullptr, 16) & ~(revision | variant));
}

std::string sysfs_hypervisor(const std::filesystem::path& sysfs, const std::filesystem::path& procfs) {
    if (read_line(sysfs / "hypervisor/type") == "xen") return "Xen";
    const std::string tree = read_line(procfs / "device-tree/hypervisor/compatible");
    if (tree.find("kvm") != std::string::npos) return "KVM";
    if (tree.find("xen") != std::string::npos) return "Xen";
    if (tree.find("vmware") != std::string::npos) return "VMware";

    const std::string product = read_line(sysfs / "class/dmi/id/product_name");
    const std::string firmware = read_line(sysfs / "class/dmi/id/sys_vendor") + " " + product + " " +
                                 read_line(sysfs / "class/dmi/id/bios_vendor");
    // Amazon's Nitro is KVM; its bare-metal types carry the same vendor.
    if (firmware.find("Amazon EC2") != std::string::npos)
        return product.find("metal") == std::string::npos ? "KVM" : "";
    constexpr std::array<std::pair<const char*, const char*>, 8> names{{
        {"KVM", "KVM"},
        {"QEMU", "QEMU"},
        {"VMware", "VMware"},
        {"innotek", "VirtualBox"},
        {"Xen", "Xen"},
        {"Bochs", "Bochs"},
        {"Parallels", "Parallels"},
        {"Google Compute Engine", "KVM"},
    }};
    for (const auto& [part, name] : names)
        if (firmware.find(part) != std::string::npos) return name;
    if (product.find("Virtual Machine") != std::string::npos) return "Hyper-V";
    return {};
}

}  // namespace tmaprobe::machine
