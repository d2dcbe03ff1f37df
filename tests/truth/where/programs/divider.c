#include "common.h"

/* Divisions that do not wait for each other: there is one divider. */
#define FOUR(what, a, b, c, d) what " %%xmm" a "\n" what " %%xmm" b "\n" what " %%xmm" c "\n" what " %%xmm" d "\n"
#define EACH(what) FOUR(what, "0", "1", "2", "3") FOUR(what, "4", "5", "6", "7")

KEEP void divide_all(double divisor, uint64_t rounds) {
    __asm__ volatile(EACH("movsd %0,") : : "x"(divisor) : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
    for (uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile(EACH("divsd %0,") : : "x"(divisor) : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");  /* PLANTED */
    }
}

int main(void) {
    divide_all(1, 50000000);
    return 0;
}
