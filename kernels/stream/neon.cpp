// 16 bytes at a time, on every 64-bit Arm; pairs of them where the stores pass the caches.
#include "kernels/stream/stream.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define TMAPROBE_TARGET

namespace tmaprobe::kernels::stream {
namespace {

/// Two registers, since the non-temporal store of Armv8 takes a pair.
struct Vector {
    struct Pair {
        float64x2_t low, high;
    };
    static constexpr std::uint64_t bytes = 32;
#define TMAPROBE_VECTOR static inline __attribute__((always_inline))
    /// One register is both halves.
    TMAPROBE_VECTOR float64x2_t repeat(double value) { return vdupq_n_f64(value); }
    TMAPROBE_VECTOR Pair load(const std::byte* at) {
        Pair pair;
        asm volatile("ldp %q0, %q1, [%2]" : "=w"(pair.low), "=w"(pair.high) : "r"(at));
        return pair;
    }
    TMAPROBE_VECTOR void keep(const Pair&) {}
    TMAPROBE_VECTOR void store(std::byte* at, const Pair& value) {
        asm volatile("stp %q0, %q1, [%2]" ::"w"(value.low), "w"(value.high), "r"(at) : "memory");
    }
    TMAPROBE_VECTOR void store(std::byte* at, float64x2_t value) { store(at, {value, value}); }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, const Pair& value) {
        asm volatile("stnp %q0, %q1, [%2]" ::"w"(value.low), "w"(value.high), "r"(at) : "memory");
    }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, float64x2_t value) { store_past_caches(at, {value, value}); }
    TMAPROBE_VECTOR void finish_stores() { asm volatile("dmb ishst" ::: "memory"); }
    TMAPROBE_VECTOR Pair multiply_add(float64x2_t x, const Pair& y, const Pair& z) {
        return {vfmaq_f64(z.low, x, y.low), vfmaq_f64(z.high, x, y.high)};
    }
#undef TMAPROBE_VECTOR
};

}  // namespace
}  // namespace tmaprobe::kernels::stream

#include "kernels/stream/passes.h"

namespace tmaprobe::kernels::stream {
Pass find_neon(Operation operation, Hint hint) { return find_pass(operation, hint); }
}  // namespace tmaprobe::kernels::stream
#else
namespace tmaprobe::kernels::stream {
Pass find_neon(Operation, Hint) { return nullptr; }
}  // namespace tmaprobe::kernels::stream
#endif
