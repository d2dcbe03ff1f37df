// Runs one kernel for a number of iterations and prints what one iteration is said to do, for check.py,
// which counts what it does.
#include <cstdio>
#include <cstdlib>

#include "kernels/kernel.h"
#include "machine/features.h"
#include "machine/host.h"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: run_kernel SPEC ITERATIONS\n");
        return 2;
    }
    using namespace tmaprobe;
    machine::Host host;
    host.features = machine::instruction_set_features();
    const auto spec = kernels::parse_spec(argv[1]);
    const auto variant =
        spec ? kernels::choose_variant(*spec->kernel, spec->variant, host) : Result<kernels::Variant>(pass_on(spec));
    if (!variant) {
        std::fprintf(stderr, "run_kernel: %s\n", variant.error().what.c_str());
        return variant.error().code == ErrorCode::unavailable ? 1 : 2;
    }
    const auto kernel = spec->kernel->make(variant->name, spec->parameters);
    if (!kernel) {
        std::fprintf(stderr, "run_kernel: %s\n", kernel.error().what.c_str());
        return 2;
    }
    (*kernel)->run(std::strtoull(argv[2], nullptr, 10));
    const kernels::Work work = (*kernel)->per_iteration();
    std::printf("%s %.17g %.17g %.17g %.17g\n", variant->name.c_str(), work.operations, work.bytes, work.loads,
                work.stores);
}
