#include "common.h"

/* cvtsi2sd keeps the upper half of its register, so that each round waits for the root of the round before. */
KEEP void roots(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile("cvtsi2sd %0, %%xmm0\n sqrtsd %%xmm0, %%xmm0\n" : : "r"(i) : "xmm0");  /* PLANTED */
    }
}

int main(void) {
    roots(80000000);
    return 0;
}
