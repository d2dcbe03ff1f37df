/* Two causes in turns that are short beside a window; how the time divides between them, the program measures by
 * itself at its end: it prints the share of the first. */
#include <time.h>

#include "common.h"

KEEP uint64_t waits(uint64_t value, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        value = value * 2862933555777941757u + 3037000493u;  /* PLANTED */
    }
    return value;
}

KEEP uint64_t guesses(const uint8_t* bytes, uint64_t from, int rounds) {
    uint64_t sum = 0;
    for (int i = 0; i < rounds; ++i) {
        if (bytes[(from + (uint64_t)i) % 65536] < 128)  /* SECOND */
            __asm__ volatile("" : "+r"(sum) : "r"(i));
        else
            __asm__ volatile("nop" : "+r"(sum));
    }
    return sum;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#ifndef TURN
#define TURN 1
#endif

int main(void) {
    static uint8_t bytes[65536];
    enum { steps = 1000 * TURN, rounds = 100 * TURN, tried = 1000000 };
    uint64_t state = 1234567, value = 1;
    for (int i = 0; i < 65536; ++i) bytes[i] = (uint8_t)(next_random(&state) >> 32);
    for (int i = 0; i < 400000 / TURN; ++i) {
        value = waits(value, steps);
        value += guesses(bytes, (uint64_t)i * 4999, rounds);
    }
    const double start = now();
    value = waits(value, tried);
    const double between = now();
    value += guesses(bytes, 0, tried);
    const double first = (between - start) * steps, second = (now() - between) * rounds;
    sink = value;
    printf("%.4f\n", first / (first + second));
    return 0;
}
