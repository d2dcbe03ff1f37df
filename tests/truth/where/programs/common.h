/* What the planted programs share. The line that costs is marked PLANTED. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP __attribute__((noinline))

/* Takes results, so that they are wanted. */
static volatile uint64_t sink __attribute__((unused));

static inline uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* In pages of 4 KiB, whatever the system prefers; touched. */
static inline void* small_pages(size_t bytes) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}

/* A ring through all of `count` nodes, `stride` bytes apart, in random order. Returns one of them. */
static inline void** random_ring(char* memory, size_t count, size_t stride) {
    uint32_t* order = malloc(count * sizeof *order);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; ++i) order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; --i) {
        const size_t other = next_random(&state) % i;
        const uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < count; ++i) *(void**)(memory + order[i] * stride) = memory + order[(i + 1) % count] * stride;
    free(order);
    return (void**)memory;
}
