#include "common.h"

#include <string.h>

static uint32_t counts[buckets];

static inline uint32_t step(uint32_t hash, unsigned char letter) { return (hash ^ letter) * 16777619u; }

/* Counts words of a text by their hash. */
uint64_t words_round(enum way way, uint64_t seed) {
    const unsigned char* from = way == mispredicted ? text_random : text;
    const unsigned order = way == mispredicted ? other_order(seed, text_bytes) : 0;
    uint32_t hash = 2166136261u + (uint32_t)seed;
    uint64_t words = 0;
    for (unsigned i = 0; i < text_bytes; ++i) {
        const unsigned char letter = from[i ^ order];
        if (letter == ' ') {
            unsigned bucket = hash % buckets;
            if (way == worse_locality) words += order_far[(hash ^ i * 977u) & 262143u] & 1;
            if (way == split_lines) {
                uint64_t value;
                memcpy(&value, split_values + 64 * bucket + 61, sizeof value);
                for (unsigned k = 1; k < 8; ++k) {
                    uint64_t next;
                    memcpy(&next, split_values + 64 * ((bucket + k) & 1023u) + 61, sizeof next);
                    value += next;
                }
                words += value & 1;
            }
            ++counts[bucket];
            hash = 2166136261u;
            ++words;
        } else if (way == not_inlined) {
            hash = mix(hash ^ letter);
        } else {
            hash = step(hash, letter);
        }
        if (way == extra_work) words += mix(hash) & 1;
    }
    return words + counts[seed % buckets];
}
