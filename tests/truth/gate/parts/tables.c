#include "common.h"

#include <stdlib.h>

enum { slots = 2048, apart = 24, asked = 1024 };

struct entry {
    uint64_t key;
    uint32_t value, used;
};

static struct entry *near_entries, *far_entries;
static unsigned char* split_entries;
static uint64_t *present, *mixed;

static inline uint32_t hash_of(uint64_t key) { return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 53); }
__attribute__((noinline)) static uint32_t hash_out_of_line(uint64_t key) { return hash_of(key); }

static struct entry* entry_at(enum way way, unsigned slot) {
    if (way == worse_locality) return far_entries + (size_t)slot * apart;
    if (way == split_lines) return (struct entry*)(split_entries + (size_t)slot * 64 + 60);
    return near_entries + slot;
}

static void fill(enum way way) {
    for (unsigned i = 0; i < asked; ++i) {
        uint32_t slot = hash_of(present[i]);
        while (entry_at(way, slot)->used) slot = (slot + 1) % slots;
        struct entry* entry = entry_at(way, slot);
        entry->key = present[i];
        entry->value = (uint32_t)present[i] >> 3;
        entry->used = 1;
    }
}

static void begin(void) {
    near_entries = calloc(slots, sizeof *near_entries);
    far_entries = calloc((size_t)slots * apart, sizeof *far_entries);
    split_entries = aligned_alloc(64, (slots + 2) * 64);
    present = malloc(asked * sizeof *present);
    mixed = malloc(asked * sizeof *mixed);
    if (!near_entries || !far_entries || !split_entries || !present || !mixed) abort();
    for (unsigned i = 0; i < (slots + 2) * 64; ++i) split_entries[i] = 0;
    for (unsigned i = 0; i < asked; ++i) present[i] = (uint64_t)mix(i + 1) << 32 | mix(i + 77777);
    // Half of what is asked for is there: one half after the other, or one here and one there.
    for (unsigned i = 0; i < asked; ++i) mixed[i] = mix(i) & 1 ? present[i] : ~present[i];
    fill(usual);
    fill(worse_locality);
    fill(split_lines);
}

/* Looks keys up in a table. */
uint64_t tables_round(enum way way, uint64_t seed) {
    if (!near_entries) begin();
    uint64_t sum = seed;
    const unsigned order = way == mispredicted ? other_order(seed, asked) : 0;
    for (unsigned i = 0; i < asked; ++i) {
        const unsigned number = i ^ order;
        const uint64_t key = way == mispredicted  ? mixed[number]
                             : number < asked / 2 ? present[number]
                                                  : ~present[number];
        uint32_t slot = way == not_inlined ? hash_out_of_line(key) : hash_of(key);
        const struct entry* entry = entry_at(way, slot);
        while (entry->used && entry->key != key) entry = entry_at(way, slot = (slot + 1) % slots);
        if (entry->used) sum += entry->value;
        if (way == extra_work) sum += mix(mix((uint32_t)key));
    }
    return sum;
}
