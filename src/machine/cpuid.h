#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine/host.h"

namespace tmaprobe::machine {

/// What one CPUID call returns.
struct CpuidRegisters {
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// CPUID as a function of (leaf, subleaf), so that decoders run on recorded values as well as on the
/// processor. A leaf that does not exist gives zeros.
using CpuidReader = std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

/// The processor's own CPUID; on other architectures every leaf is zero. Leaves above the largest
/// one give zeros too (Intel's processors would repeat another leaf).
CpuidReader native_cpuid();

/// "GenuineIntel", "AuthenticAMD", ...; empty where there is no CPUID.
std::string cpuid_vendor(const CpuidReader& cpuid);

/// perf's spelling, vendor-family-model-stepping with the last two in hexadecimal
/// ("GenuineIntel-6-8F-8"); empty where there is no CPUID.
std::string cpuid_id(const CpuidReader& cpuid);

/// The brand string of leaves 80000002h to 80000004h, with outer spaces removed.
std::string cpuid_brand(const CpuidReader& cpuid);

/// The hypervisor that announces itself at 40000000h (or behind Hyper-V's compatible interface at
/// 40000100h): "KVM", "VMware", ...; an unknown one by its own twelve letters; "unknown" when only the
/// presence bit is set; empty on bare metal.
std::string cpuid_hypervisor(const CpuidReader& cpuid);
/// The one that executes each instruction in software.
inline constexpr const char* software_emulator = "QEMU TCG";

/// Frequency of the time-stamp counter from leaf 15h or the hypervisor's leaf 40000010h; 0: not said.
double cpuid_tsc_hz(const CpuidReader& cpuid);

/// Caches of leaf 4 (Intel) or 8000001Dh (AMD), else of 80000005h and 80000006h, smallest level first.
std::vector<Cache> cpuid_caches(const CpuidReader& cpuid);

/// TLBs of leaf 18h (Intel) or 80000005h, 80000006h and 80000019h (AMD). Intel's older leaf 2 needs a
/// table of meanings: see cpuid_descriptors.
std::vector<Tlb> cpuid_tlbs(const CpuidReader& cpuid);

/// The descriptor bytes of leaf 2, without the null ones, in the order of the registers.
std::vector<std::uint8_t> cpuid_descriptors(const CpuidReader& cpuid);

/// L3 of the whole package as 80000006h gives it (AMD), in bytes; 0: not said.
std::uint64_t cpuid_package_l3_bytes(const CpuidReader& cpuid);

/// Where the leaves disagree with each other, one sentence each.
std::vector<std::string> cpuid_contradictions(const CpuidReader& cpuid);

}  // namespace tmaprobe::machine
