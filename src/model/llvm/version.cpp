#include "model/llvm/version.h"

#include <llvm/Config/llvm-config.h>

namespace tmaprobe::model::core {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tmaprobe::model::core
