// The loops of the stream kernel, written once for any vector. Each variant's file includes this once,
// after it has defined TMAPROBE_TARGET (the attribute that switches its instructions on) and a struct
// Vector of static functions; all is private to that file, so that no two variants share code.
#include <array>
#include <utility>

#include "kernels/stream/stream.h"

#define TMAPROBE_PASS TMAPROBE_TARGET inline __attribute__((always_inline))

namespace tmaprobe::kernels::stream {
namespace {

template <Hint hint>
TMAPROBE_PASS void prefetch(const std::byte* at) {
#if defined(__x86_64__)
    if constexpr (hint == Hint::t0) asm volatile("prefetcht0 (%0)" ::"r"(at));
    if constexpr (hint == Hint::t1) asm volatile("prefetcht1 (%0)" ::"r"(at));
    if constexpr (hint == Hint::t2) asm volatile("prefetcht2 (%0)" ::"r"(at));
    if constexpr (hint == Hint::nta) asm volatile("prefetchnta (%0)" ::"r"(at));
    if constexpr (hint == Hint::w) asm volatile("prefetchw (%0)" ::"r"(at));
#else
    if constexpr (hint == Hint::t0) __builtin_prefetch(at, 0, 3);
    if constexpr (hint == Hint::t1) __builtin_prefetch(at, 0, 2);
    if constexpr (hint == Hint::t2) __builtin_prefetch(at, 0, 1);
    if constexpr (hint == Hint::nta) __builtin_prefetch(at, 0, 0);
    if constexpr (hint == Hint::w) __builtin_prefetch(at, 1, 3);
#endif
}

/// Prefetches the chunk that lies `distance` ahead, a line at a time.
template <Hint hint>
TMAPROBE_PASS void prefetch_chunk(const std::byte* at, std::uint64_t distance) {
    if constexpr (hint != Hint::none) {
#pragma GCC unroll 4
        for (std::uint64_t line = 0; line < chunk_bytes; line += 64) prefetch<hint>(at + distance + line);
    }
}

/// By reference, as Vector's own functions take what has two registers: compilers copy such values through the stack,
/// with loads and stores of their own.
template <bool past_caches, class Value>
TMAPROBE_PASS void put(std::byte* at, const Value& value) {
    if constexpr (past_caches)
        Vector::store_past_caches(at, value);
    else
        Vector::store(at, value);
}

/// One line: all of it is loaded before it is stored, which some cores do faster than a load and a store in turns.
template <bool copies, bool past_caches, class Scalar>
TMAPROBE_PASS void combine_line(std::byte* a, const std::byte* b, const std::byte* c, const Scalar& scalar) {
    constexpr std::size_t vectors = 64 / Vector::bytes;
    std::array<decltype(Vector::load(b)), vectors> values;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < vectors; ++i) {
        const std::size_t at = i * Vector::bytes;
        if constexpr (copies)
            values[i] = Vector::load(b + at);
        else
            values[i] = Vector::multiply_add(scalar, Vector::load(c + at), Vector::load(b + at));
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < vectors; ++i) put<past_caches>(a + i * Vector::bytes, values[i]);
}

template <Operation operation, Hint hint>
TMAPROBE_TARGET void pass(const Share& share, std::uint64_t times) {
    constexpr bool reads = operation == Operation::read;
    constexpr bool writes = operation == Operation::write || operation == Operation::nt_write;
    constexpr bool copies = operation == Operation::copy || operation == Operation::nt_copy;
    constexpr bool past_caches =
        operation == Operation::nt_write || operation == Operation::nt_copy || operation == Operation::nt_triad;
    constexpr std::uint64_t width = Vector::bytes;
    const auto scalar = Vector::repeat(3.0);
    const std::uint64_t distance = share.distance;

    for (; times; --times) {
        // Three pointers instead of one index: a store with an index register takes a load port on Intel.
        std::byte* a = share.a;
        const std::byte* b = share.b;
        const std::byte* c = share.c;
        for (const std::byte* const end = a + share.bytes; a != end;
             a += chunk_bytes, b += chunk_bytes, c += chunk_bytes) {
            if constexpr (reads || writes || hint == Hint::w) {
                prefetch_chunk<hint>(a, distance);
            } else {
                prefetch_chunk<hint>(b, distance);
                if constexpr (!copies) prefetch_chunk<hint>(c, distance);
            }
#pragma GCC unroll 32
            for (std::uint64_t i = 0; i < chunk_bytes; i += width) {
                if constexpr (reads) Vector::keep(Vector::load(a + i));
                if constexpr (writes) put<past_caches>(a + i, scalar);
            }
            if constexpr (!reads && !writes) {
#pragma GCC unroll 4
                for (std::uint64_t line = 0; line < chunk_bytes; line += 64)
                    combine_line<copies, past_caches>(a + line, b + line, c + line, scalar);
            }
        }
        // The next pass does all of it again, whatever the compiler knows about the last.
        asm volatile("" ::: "memory");
    }
    if constexpr (past_caches) Vector::finish_stores();
}

template <Operation operation>
Pass find_hint(Hint hint) {
    constexpr std::array<Pass, 6> passes{pass<operation, Hint::none>, pass<operation, Hint::t0>,
                                         pass<operation, Hint::t1>,   pass<operation, Hint::t2>,
                                         pass<operation, Hint::nta>,  pass<operation, Hint::w>};
    return passes[static_cast<std::size_t>(hint)];
}

Pass find_pass(Operation operation, Hint hint) {
    switch (operation) {
        case Operation::read:
            return find_hint<Operation::read>(hint);
        case Operation::write:
            return find_hint<Operation::write>(hint);
        case Operation::nt_write:
            return find_hint<Operation::nt_write>(hint);
        case Operation::copy:
            return find_hint<Operation::copy>(hint);
        case Operation::nt_copy:
            return find_hint<Operation::nt_copy>(hint);
        case Operation::triad:
            return find_hint<Operation::triad>(hint);
        case Operation::nt_triad:
            return find_hint<Operation::nt_triad>(hint);
    }
    return nullptr;
}

}  // namespace
}  // namespace tmaprobe::kernels::stream
