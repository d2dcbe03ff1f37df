#include "common.h"

#include <stdlib.h>
#include <string.h>

uint32_t *sorted, *shuffled, *order_near, *order_far;
unsigned char *split_values, *text, *text_random;

static uint64_t state = 88172645463325252ull;
static uint32_t random_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void* room(size_t bytes) {
    void* memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!memory) abort();
    return memory;
}

void prepare(void) {
    enum { far = 1 << 18 };
    sorted = room(values * 4);
    shuffled = room(values * 4);
    order_near = room(values * 4);
    order_far = room((size_t)far * 4);
    split_values = room(values * 64 + 64);
    text = room(text_bytes);
    text_random = room(text_bytes);
    for (unsigned i = 0; i < values; ++i) sorted[i] = i < values / 2 ? i : 1000000 + i;
    memcpy(shuffled, sorted, values * 4);
    for (unsigned i = values - 1; i > 0; --i) {
        const unsigned other = random_number() % (i + 1);
        const uint32_t kept = shuffled[i];
        shuffled[i] = shuffled[other];
        shuffled[other] = kept;
    }
    for (unsigned i = 0; i < values; ++i) order_near[i] = i;
    for (unsigned i = 0; i < far; ++i) order_far[i] = random_number();
    for (unsigned i = 0; i < values; ++i) memcpy(split_values + 64 * i + 61, sorted + i, 4);
    for (unsigned i = 0; i < text_bytes; ++i) text[i] = i % 8 == 7 ? ' ' : (unsigned char)('a' + i % 7);
    for (unsigned i = 0; i < text_bytes; ++i)
        text_random[i] = random_number() % 8 == 0 ? ' ' : (unsigned char)('a' + i % 7);
}
