// 8 bytes at a time, on any CPU.
#include "kernels/stream/stream.h"

#define TMAPROBE_TARGET

namespace tmaprobe::kernels::stream {
namespace {

struct Vector {
    static constexpr std::uint64_t bytes = 8;
#define TMAPROBE_VECTOR static inline __attribute__((always_inline))
    TMAPROBE_VECTOR double repeat(double value) { return value; }
    /// Volatile, or the compiler would make vectors of it.
    TMAPROBE_VECTOR double load(const std::byte* at) { return *reinterpret_cast<const volatile double*>(at); }
    TMAPROBE_VECTOR void keep(double) {}
    TMAPROBE_VECTOR void store(std::byte* at, double value) { *reinterpret_cast<volatile double*>(at) = value; }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, double value) {
#if defined(__x86_64__)
        asm volatile("movnti %1, (%0)" ::"r"(at), "r"(value) : "memory");
#else
        store(at, value);
#endif
    }
    TMAPROBE_VECTOR void finish_stores() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
    TMAPROBE_VECTOR double multiply_add(double x, double y, double z) { return x * y + z; }
#undef TMAPROBE_VECTOR
};

}  // namespace
}  // namespace tmaprobe::kernels::stream

#include "kernels/stream/passes.h"

namespace tmaprobe::kernels::stream {
Pass find_scalar(Operation operation, Hint hint) {
#if !defined(__x86_64__)
    // Arm has no store of one register past the caches.
    if (operation == Operation::nt_write || operation == Operation::nt_copy || operation == Operation::nt_triad)
        return nullptr;
#endif
    return find_pass(operation, hint);
}
}  // namespace tmaprobe::kernels::stream
