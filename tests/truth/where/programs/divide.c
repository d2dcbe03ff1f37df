#include "common.h"

KEEP uint64_t divisions(uint64_t value, uint64_t divisor, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        value = ~(value / divisor);  /* PLANTED */
    }
    return value;
}

int main(int count, char** words) {
    (void)words;
    sink = divisions(~0ull, (uint64_t)count + 6, 100000000);
    return 0;
}
