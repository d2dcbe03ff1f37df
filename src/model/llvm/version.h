#pragma once

#include <string>

namespace tmaprobe::model::core {

/// Of LLVM, whose scheduling data this build has.
std::string llvm_version();

}  // namespace tmaprobe::model::core
