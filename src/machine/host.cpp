#include "machine/host.h"

#include <algorithm>

namespace tmaprobe::machine {

Host detect() { return {}; }

bool has_feature(const Host& host, const std::string& feature) {
    return std::find(host.features.begin(), host.features.end(), feature) != host.features.end();
}

}  // namespace tmaprobe::machine
