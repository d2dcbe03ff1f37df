/* Waits for blocks that it allocated: for a list's, which another list's lie between, and for a large one. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { nodes = 1 << 16, entries = 1 << 24 };

struct node {
    struct node* next;
    uint64_t value[4];
};

static __attribute__((noinline)) struct node* new_node(uint64_t value) {
    struct node* const node = malloc(sizeof *node); /* the innermost */
    node->next = NULL;
    node->value[0] = value;
    return node;
}

static __attribute__((noinline)) void make_walked(struct node** to) {
    *to = new_node(1); /* walked */
}

static __attribute__((noinline)) void make_left_alone(struct node** to) {
    *to = new_node(2);
}

static uint64_t next_random(uint64_t* random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* One ring of all, in an order that chance made (Sattolo's). */
static __attribute__((noinline)) struct node* linked(struct node** list) {
    uint64_t random = 88172645463325252u;
    for (uint64_t i = nodes - 1; i > 0; --i) {
        const uint64_t other = next_random(&random) % i;
        struct node* const one = list[i];
        list[i] = list[other];
        list[other] = one;
    }
    for (uint64_t i = 0; i < nodes; ++i) list[i]->next = list[(i + 1) % nodes];
    return list[0];
}

static __attribute__((noinline)) uint64_t walk(const struct node* at, uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        sum += at->value[0];
        at = at->next;
    }
    return sum;
}

static __attribute__((noinline)) uint64_t gather(const uint64_t* table, uint64_t rounds) {
    uint64_t sum = 0, random = 88172645463325252u;
    for (uint64_t i = 0; i < rounds; ++i) sum += table[(next_random(&random) + sum) % entries];
    return sum;
}

static void* allocate_meanwhile(void* nothing) {
    for (int i = 0; i < 1000; ++i) free(malloc(100));
    return nothing;
}

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 500000;
    if (argc > 1 && argv[1][0] == 'g') {
        uint64_t* table = NULL;
        if (posix_memalign((void**)&table, 4096, 4096)) return 1;
        free(table);
        table = calloc(entries, sizeof *table); /* the large one */
        for (uint64_t i = 0; i < entries; i += 512) table[i] = i;
        printf("%d\n", gather(table, rounds) != 0);
        return 0;
    }
    if (argc > 1 && argv[1][0] == 't') {
        pthread_t thread;
        if (pthread_create(&thread, NULL, allocate_meanwhile, NULL) || pthread_join(thread, NULL)) return 1;
    }
    struct node** const list = malloc(nodes * sizeof *list);
    struct node** const other = malloc(nodes * sizeof *other);
    for (uint64_t i = 0; i < nodes; ++i) {
        make_walked(&list[i]);
        make_left_alone(&other[i]);
    }
    printf("%d\n", walk(linked(list), rounds) != 0);
}
