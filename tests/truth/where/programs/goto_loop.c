#include "common.h"

/* A loop that no keyword says is one: it is entered in its middle, and what costs lies behind the branch back. */
KEEP uint64_t around(uint64_t value, uint64_t divisor, uint64_t rounds) {
    goto test;
again:
    if (value % 16 == 3) value += 5;
    value = ~(value / divisor);  /* PLANTED */
test:
    if (rounds--) goto again;
    return value;
}

int main(int count, char** words) {
    (void)words;
    sink = around(~0ull, (uint64_t)count + 6, 100000000);
    return 0;
}
