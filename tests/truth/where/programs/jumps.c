#include "common.h"

/* Nothing but jumps: no more is fetched in the cycle of one. */
#define JUMP "jmp 1f\n nop\n 1:\n"
#define JUMP8 JUMP JUMP JUMP JUMP JUMP JUMP JUMP JUMP

KEEP void jumps(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        __asm__ volatile(JUMP8 JUMP8);  /* PLANTED */
    }
}

int main(void) {
    jumps(100000000);
    return 0;
}
