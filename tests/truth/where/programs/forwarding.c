#include "common.h"

/* Written in two halves, read as a whole. */
KEEP uint64_t halves(volatile uint32_t* place, uint64_t rounds) {
    uint64_t value = 1;
    for (uint64_t i = 0; i < rounds; ++i) {
        place[0] = (uint32_t)value;
        place[1] = (uint32_t)i;
        value = *(volatile uint64_t*)place + 1;  /* PLANTED */
    }
    return value;
}

int main(void) {
    static uint64_t place;
    sink = halves((volatile uint32_t*)&place, 80000000);
    return 0;
}
