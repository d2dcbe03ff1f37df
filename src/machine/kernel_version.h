#pragma once

#include <array>
#include <string>

namespace tmaprobe::machine {

/// Version, patch level, sublevel of Linux: 6.1.22 is {6, 1, 22}. All 0: not known.
using KernelVersion = std::array<int, 3>;

/// "6.1.22", "6.2" or a release as uname gives it ("6.1.22-rt7"): numbers up to the first other character.
KernelVersion parse_kernel_version(const std::string& text);

/// The version that a distribution's kernel was made from. Its release may not say ("6.1.0-18-amd64",
/// "5.15.0-92-generic"): Debian names it in uname's `version` ("... Debian 6.1.76-1 (2024-02-01)"), Ubuntu in
/// /proc/version_signature ("Ubuntu 5.15.0-92.102-generic 5.15.131"), whose text may be empty.
KernelVersion upstream_version(const std::string& release, const std::string& version, const std::string& signature);

}  // namespace tmaprobe::machine
