#include "common.h"

KEEP uint64_t fenced(uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        sum += i;
        __asm__ volatile("lfence" ::: "memory");  /* PLANTED */
    }
    return sum;
}

int main(void) {
    sink = fenced(60000000);
    return 0;
}
