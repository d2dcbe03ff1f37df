#include "common.h"

#include <stdio.h>

#ifndef ROUND
#define ROUND records_round
#endif

int main(void) {
    prepare();
    uint64_t sum = 0;
    unsigned due = 0;
    for (unsigned round = 0; round < ROUNDS; ++round) {
        due += SLOW;
        const int slow = due >= ROUNDS;
        if (slow) due -= ROUNDS;
        sum += ROUND(slow ? WAY : usual, round);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
