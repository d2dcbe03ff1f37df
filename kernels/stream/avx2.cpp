// 32 bytes at a time.
#include "kernels/stream/stream.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TMAPROBE_TARGET __attribute__((target("avx2,fma")))

namespace tmaprobe::kernels::stream {
namespace {

struct Vector {
    static constexpr std::uint64_t bytes = 32;
#define TMAPROBE_VECTOR TMAPROBE_TARGET static inline __attribute__((always_inline))
    TMAPROBE_VECTOR __m256d repeat(double value) { return _mm256_set1_pd(value); }
    TMAPROBE_VECTOR __m256d load(const std::byte* at) { return _mm256_load_pd(reinterpret_cast<const double*>(at)); }
    /// Nothing is done with the value, but it has to be loaded.
    TMAPROBE_VECTOR void keep(__m256d value) { asm volatile("" ::"x"(value)); }
    TMAPROBE_VECTOR void store(std::byte* at, __m256d value) { _mm256_store_pd(reinterpret_cast<double*>(at), value); }
    TMAPROBE_VECTOR void store_past_caches(std::byte* at, __m256d value) {
        _mm256_stream_pd(reinterpret_cast<double*>(at), value);
    }
    TMAPROBE_VECTOR void finish_stores() { _mm_sfence(); }
    TMAPROBE_VECTOR __m256d multiply_add(__m256d x, __m256d y, __m256d z) { return _mm256_fmadd_pd(x, y, z); }
#undef TMAPROBE_VECTOR
};

}  // namespace
}  // namespace tmaprobe::kernels::stream

#include "kernels/stream/passes.h"

namespace tmaprobe::kernels::stream {
Pass find_avx2(Operation operation, Hint hint) { return find_pass(operation, hint); }
}  // namespace tmaprobe::kernels::stream
#else
namespace tmaprobe::kernels::stream {
Pass find_avx2(Operation, Hint) { return nullptr; }
}  // namespace tmaprobe::kernels::stream
#endif
