#include "common.h"

/* Eight products at a time that do not wait for each other: one unit multiplies. */
KEEP void products(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile("imul $3, %0, %%r8\n imul $5, %0, %%r9\n imul $7, %0, %%r10\n imul $9, %0, %%r11\n"  /* PLANTED */
                         "imul $11, %0, %%r8\n imul $13, %0, %%r9\n imul $15, %0, %%r10\n imul $17, %0, %%r11\n"
                         : : "r"(i) : "r8", "r9", "r10", "r11");
    }
}

int main(void) {
    products(250000000);
    return 0;
}
