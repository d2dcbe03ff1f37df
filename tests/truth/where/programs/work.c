#include "common.h"

/* Nothing is wrong here: independent additions. */
KEEP void additions(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile("add $1, %%r8\n add $1, %%r9\n add $1, %%r10\n add $1, %%r11\n add $1, %%rcx\n"  /* PLANTED */
                         : : : "r8", "r9", "r10", "r11", "rcx");
    }
}

int main(void) {
    additions(600000000);
    return 0;
}
