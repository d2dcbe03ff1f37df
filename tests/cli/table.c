/* Waits for a table of its own, at random. */
#include <stdint.h>
#include <stdio.h>

enum { entries = 1 << 24 };
static uint64_t table[entries];

static __attribute__((noinline)) uint64_t gather(uint64_t rounds) {
    uint64_t sum = 0, random = 88172645463325252u;
    for (uint64_t i = 0; i < rounds; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        sum += table[((random >> 30) + sum) % entries];
    }
    return sum;
}

int main(void) {
    for (uint64_t i = 0; i < entries; i += 512) table[i] = i;
    printf("%d\n", gather(500000) != 0);
}
