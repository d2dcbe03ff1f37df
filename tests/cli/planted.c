/* Programs whose costly line and its cause are known: planted branch|chase|ratio [ROUNDS]. The lines are marked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

static uint64_t random_state = 88172645463325252u;
static inline uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

KEEP uint64_t unpredictable(uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        const uint64_t word = next_random();
        if (word & 1)  /* PLANTED branch */
            __asm__ volatile("" : "+r"(sum) : "r"(i));
        else
            __asm__ volatile("nop" : "+r"(sum));
    }
    return sum;
}

struct Node {
    struct Node* next;
    char rest[56];
};

KEEP struct Node* chase(struct Node* node, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i)
        node = node->next;  /* PLANTED chase */
    return node;
}

static struct Node* ring(size_t nodes) {
    struct Node* all = malloc(nodes * sizeof *all);
    uint32_t* order = malloc(nodes * sizeof *order);
    for (size_t i = 0; i < nodes; ++i) order[i] = (uint32_t)i;
    for (size_t i = nodes - 1; i > 0; --i) {
        const size_t other = next_random() % i;
        const uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < nodes; ++i) all[order[i]].next = &all[order[(i + 1) % nodes]];
    free(order);
    return all;
}

#define CHAIN(name)                                                                                                \
    KEEP uint64_t name(uint64_t value, int steps) {                                                                \
        for (int i = 0; i < steps; ++i) value = value * 2862933555777941757u + 3037000493u;                        \
        return value;                                                                                              \
    }
CHAIN(one_part)
CHAIN(three_parts)

KEEP uint64_t ratio(uint64_t rounds) {
    uint64_t value = 1;
    for (uint64_t i = 0; i < rounds; ++i) value = three_parts(one_part(value, 50), 150);
    return value;
}

int main(int count, char** words) {
    const char* what = count > 1 ? words[1] : "";
    const uint64_t rounds = count > 2 ? strtoull(words[2], NULL, 10) : 0;
    if (!strcmp(what, "branch")) printf("%d\n", (int)(unpredictable(rounds ? rounds : 150000000) & 1));
    if (!strcmp(what, "chase")) printf("%d\n", chase(ring(1 << 18), rounds ? rounds : 10000000) != NULL);
    if (!strcmp(what, "ratio")) printf("%d\n", (int)(ratio(rounds ? rounds : 4000000) & 1));
    return 0;
}
