/* Two regions whose instructions are known: "chain" waits for itself (two multiplications in a row, 4 instructions an
 * iteration), "wide" hardly waits at all (six additions that need nothing of one another, 8 instructions). */
#include <tmaprobe/region.h>

#include <stdio.h>
#include <stdlib.h>

static unsigned long chain(unsigned long n) {
    unsigned long x = 3;
#if defined(__x86_64__)
    __asm__ volatile("1: imul %[x], %[x]\n imul %[x], %[x]\n dec %[n]\n jnz 1b" : [x] "+r"(x), [n] "+r"(n)::"cc");
#else
    __asm__ volatile("1: mul %[x], %[x], %[x]\n mul %[x], %[x], %[x]\n subs %[n], %[n], #1\n b.ne 1b"
                     : [x] "+r"(x), [n] "+r"(n)::"cc");
#endif
    return x;
}

static unsigned long wide(unsigned long n) {
    unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
#if defined(__x86_64__)
    __asm__ volatile(
        "1: add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n add $1, %4\n add $1, %5\n dec %6\n jnz 1b"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(n)::"cc");
#else
    __asm__ volatile(
        "1: add %0, %0, #1\n add %1, %1, #1\n add %2, %2, #1\n add %3, %3, #1\n add %4, %4, #1\n add %5, %5, #1\n"
        "subs %6, %6, #1\n b.ne 1b"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(n)::"cc");
#endif
    return a + b + c + d + e + f;
}

/* two_regions [ROUNDS [CHAIN [WIDE]]]: iterations of a round. */
int main(int argc, char** argv) {
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], 0, 10) : 4000;
    const unsigned long of_chain = argc > 2 ? strtoul(argv[2], 0, 10) : 10000;
    const unsigned long of_wide = argc > 3 ? strtoul(argv[3], 0, 10) : 60000;
    unsigned long sum = 0;
    for (unsigned long i = 0; i < rounds; ++i) {
        TMAPROBE_REGION_BEGIN("chain");
        sum += chain(of_chain);
        TMAPROBE_REGION_END_COUNTED("chain", of_chain, 0);
        TMAPROBE_REGION_BEGIN("wide");
        sum += wide(of_wide);
        TMAPROBE_REGION_END_COUNTED("wide", of_wide, 8 * of_wide);
    }
    printf("%lu\n", sum);
    return 0;
}
