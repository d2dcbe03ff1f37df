// 64 bytes at a time.
#include "kernels/stream/stream.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TMAPROBE_TARGET __attribute__((target("avx512f")))

namespace tmaprobe::kernels::stream {
namespace {

struct Vector {
    static constexpr std::uint64_t bytes = 64;
#define TMAPROBE_VECTOR TMAPROBE_TARGET static inline __attribute__((always_inline))
    TMAPROBE_VECTOR __m512d repeat(double value) { return _mm512_set1_pd(value); }
    TMAPROBE_VECTOR __m512d load(const std::byte* at) { return _mm512_load_pd(reinterpret_cast<const double*>(at)); }
    /// Nothing is done with the value, but it has to be loaded.
    TMAPROBE_VECTOR void keep(__m512d value) { asm volatile("" ::"v"(value)); }
    TMAPROBE_VECTOR void store(std::byte* at, __m512d value) { _mm512_store_pd(reinterpret_cast<double*>(at), value); }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, __m512d value) {
        _mm512_stream_pd(reinterpret_cast<double*>(at), value);
    }
    TMAPROBE_VECTOR void finish_stores() { _mm_sfence(); }
    TMAPROBE_VECTOR __m512d multiply_add(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
#undef TMAPROBE_VECTOR
};

}  // namespace
}  // namespace tmaprobe::kernels::stream

#include "kernels/stream/passes.h"

namespace tmaprobe::kernels::stream {
Pass find_avx512(Operation operation, Hint hint) { return find_pass(operation, hint); }
}  // namespace tmaprobe::kernels::stream
#else
namespace tmaprobe::kernels::stream {
Pass find_avx512(Operation, Hint) { return nullptr; }
}  // namespace tmaprobe::kernels::stream
#endif
