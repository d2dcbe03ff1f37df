#include "common.h"

KEEP uint64_t keep_some(const uint8_t* bytes, uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        if (bytes[i % 65536] < 128)  /* PLANTED */
            __asm__ volatile("" : "+r"(sum) : "r"(i));
        else
            __asm__ volatile("nop" : "+r"(sum));
    }
    return sum;
}

int main(void) {
    static uint8_t bytes[65536];
    uint64_t state = 1234567;
    for (int i = 0; i < 65536; ++i) bytes[i] = (uint8_t)(next_random(&state) >> 32);
    sink = keep_some(bytes, 150000000);
    return 0;
}
