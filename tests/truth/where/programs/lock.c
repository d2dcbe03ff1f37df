#include "common.h"

KEEP void count(uint64_t* counter, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        __atomic_fetch_add(counter, i, __ATOMIC_SEQ_CST);  /* PLANTED */
    }
}

int main(void) {
    static uint64_t counter;
    count(&counter, 100000000);
    return counter == 1;
}
