#include "machine/cpuid.h"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tmaprobe::machine {
namespace {

std::string letters(std::initializer_list<std::uint32_t> registers) {
    std::string text;
    for (const std::uint32_t value : registers) {
        std::array<char, 4> bytes{};
        std::memcpy(bytes.data(), &value, bytes.size());
        for (const char letter : bytes) {
            if (letter == '\0') continue;
            text += letter >= ' ' && letter < 127 ? letter : '?';
        }
    }
    return text;
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(' ');
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Signatures as the hypervisors' own documentation gives them.
constexpr std::array<std::pair<const char*, const char*>, 12> hypervisors{{
    {"KVMKVMKVM", "KVM"},
    {"Linux KVM Hv", "KVM"},
    {"Microsoft Hv", "Hyper-V"},
    {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "Xen"},
    {"TCGTCGTCGTCG", software_emulator},
    {"bhyve bhyve ", "bhyve"},
    {" lrpepyh  vr", "Parallels"},
    {"VBoxVBoxVBox", "VirtualBox"},
    {"ACRNACRNACRN", "ACRN"},
    {"Jailhouse", "Jailhouse"},
    {"BHYVE BHYVE ", "bhyve"},
}};

std::string hypervisor_at(const CpuidReader& cpuid, std::uint32_t leaf) {
    const CpuidRegisters answer = cpuid(leaf, 0);
    const std::string signature = letters({answer.ebx, answer.ecx, answer.edx});
    for (const auto& [known, name] : hypervisors)
        if (signature == known) return name;
    return trimmed(signature);
}

bool under_hypervisor(const CpuidReader& cpuid) { return cpuid(1, 0).ecx >> 31 != 0; }

}  // namespace

CpuidReader native_cpuid() {
#if defined(__x86_64__) || defined(__i386__)
    return [](std::uint32_t leaf, std::uint32_t subleaf) {
        CpuidRegisters registers;
        const std::uint32_t range = leaf & 0xC0000000U;
        // Hypervisor leaves have a maximum of their own, which they do not always tell.
        if (range != 0x40000000U && leaf > __get_cpuid_max(range, nullptr)) return registers;
        __cpuid_count(leaf, subleaf, registers.eax, registers.ebx, registers.ecx, registers.edx);
        return registers;
    };
#else
    return [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
#endif
}

std::string cpuid_vendor(const CpuidReader& cpuid) {
    const CpuidRegisters answer = cpuid(0, 0);
    return letters({answer.ebx, answer.edx, answer.ecx});
}

std::string cpuid_id(const CpuidReader& cpuid) {
    const std::string vendor = cpuid_vendor(cpuid);
    if (vendor.empty()) return {};
    const std::uint32_t signature = cpuid(1, 0).eax;
    std::uint32_t family = signature >> 8 & 0xF;
    std::uint32_t model = signature >> 4 & 0xF;
    if (family == 0xF) family += signature >> 20 & 0xFF;
    if (family >= 6) model += (signature >> 16 & 0xF) << 4;
    return fmt::format("{}-{}-{:X}-{:X}", vendor, family, model, signature & 0xF);
}

std::string cpuid_brand(const CpuidReader& cpuid) {
    if (cpuid(0x80000000, 0).eax < 0x80000004) return {};
    std::string brand;
    for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
        const CpuidRegisters part = cpuid(leaf, 0);
        brand += letters({part.eax, part.ebx, part.ecx, part.edx});
    }
    return trimmed(brand);
}

std::string cpuid_hypervisor(const CpuidReader& cpuid) {
    if (!under_hypervisor(cpuid)) return {};
    const std::string first = hypervisor_at(cpuid, 0x40000000);
    if (first == "Hyper-V") {
        // KVM and Xen offer Hyper-V's interface first and their own one step behind it.
        const std::string second = hypervisor_at(cpuid, 0x40000100);
        if (second == "KVM" || second == "Xen") return second;
    }
    return first.empty() ? "unknown" : first;
}

double cpuid_tsc_hz(const CpuidReader& cpuid) {
    if (cpuid(0, 0).eax >= 0x15) {
        const CpuidRegisters ratio = cpuid(0x15, 0);
        if (ratio.eax != 0 && ratio.ebx != 0 && ratio.ecx != 0)
            return static_cast<double>(ratio.ecx) * ratio.ebx / ratio.eax;
    }
    if (under_hypervisor(cpuid)) {
        const std::uint32_t last = cpuid(0x40000000, 0).eax;
        if (last >= 0x40000010 && last < 0x40000100) return 1e3 * cpuid(0x40000010, 0).eax;
    }
    return 0;
}

}  // namespace tmaprobe::machine
