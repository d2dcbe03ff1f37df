// 16 bytes at a time, on every x86-64.
#include "kernels/stream/stream.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TMAPROBE_TARGET __attribute__((target("sse2")))

namespace tmaprobe::kernels::stream {
namespace {

struct Vector {
    static constexpr std::uint64_t bytes = 16;
#define TMAPROBE_VECTOR TMAPROBE_TARGET static inline __attribute__((always_inline))
    TMAPROBE_VECTOR __m128d repeat(double value) { return _mm_set1_pd(value); }
    TMAPROBE_VECTOR __m128d load(const std::byte* at) { return _mm_load_pd(reinterpret_cast<const double*>(at)); }
    /// Nothing is done with the value, but it has to be loaded.
    TMAPROBE_VECTOR void keep(__m128d value) { asm volatile("" ::"x"(value)); }
    TMAPROBE_VECTOR void store(std::byte* at, __m128d value) { _mm_store_pd(reinterpret_cast<double*>(at), value); }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, __m128d value) {
        _mm_stream_pd(reinterpret_cast<double*>(at), value);
    }
    TMAPROBE_VECTOR void finish_stores() { _mm_sfence(); }
    TMAPROBE_VECTOR __m128d multiply_add(__m128d x, __m128d y, __m128d z) { return _mm_add_pd(_mm_mul_pd(x, y), z); }
#undef TMAPROBE_VECTOR
};

}  // namespace
}  // namespace tmaprobe::kernels::stream

#include "kernels/stream/passes.h"

namespace tmaprobe::kernels::stream {
Pass find_sse2(Operation operation, Hint hint) { return find_pass(operation, hint); }
}  // namespace tmaprobe::kernels::stream
#else
namespace tmaprobe::kernels::stream {
Pass find_sse2(Operation, Hint) { return nullptr; }
}  // namespace tmaprobe::kernels::stream
#endif
