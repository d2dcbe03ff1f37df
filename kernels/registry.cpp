#include "kernels/kernel.h"

namespace tmaprobe::kernels {

std::span<const Descriptor> all() { return {}; }
Result<const Descriptor*> find(const std::string& name) {
    return fail(ErrorCode::bad_usage, "no kernel is called '" + name + "'");
}
Result<Variant> choose_variant(const Descriptor& kernel, const std::string&, const machine::Host&) {
    return kernel.variants.front();
}

}  // namespace tmaprobe::kernels
