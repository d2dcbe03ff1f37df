#include "common.h"

static KEEP uint64_t step(uint64_t value) { return value | 1; }

/* Three loops in each other; a function is called in the middle one, and the innermost divides. */
KEEP uint64_t nested(uint64_t value, uint64_t divisor, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
        for (uint64_t j = 0; j < 30; ++j) {
            value = step(value);
            for (uint64_t k = 0; k < 20; ++k) {
                value = ~(value / divisor);  /* PLANTED */
            }
        }
    }
    return value;
}

int main(int count, char** words) {
    sink = nested(~0ull, (uint64_t)count + 6, count > 1 ? strtoull(words[1], NULL, 10) : 170000);
    return 0;
}
