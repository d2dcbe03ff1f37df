#include "common.h"

#include <string.h>

static inline uint32_t weight(uint32_t value) { return value * 3 + (value >> 2); }

/* Adds up those of the values that are small. */
uint64_t records_round(enum way way, uint64_t seed) {
    uint64_t sum = seed;
    const uint32_t* from = way == mispredicted ? shuffled : sorted;
    const unsigned order = way == mispredicted ? other_order(seed, values) : 0;
    if (way == worse_locality) {
        for (unsigned i = 0; i < values; ++i) {
            const uint32_t value = from[i] + (order_far[(i * 4099u + (unsigned)seed * 64u) & 262143u] & 1u);
            if (value < 1000000u)
                sum += weight(value) ^ sum >> 3;
            else
                sum -= value >> 1;
        }
    } else if (way == split_lines) {
        for (unsigned i = 0; i < values; ++i) {
            uint32_t value;
            memcpy(&value, split_values + 64 * i + 61, 4);
            if (value < 1000000u)
                sum += weight(value) ^ sum >> 3;
            else
                sum -= value >> 1;
        }
    } else if (way == not_inlined) {
        for (unsigned i = 0; i < values; ++i) {
            const uint32_t value = from[i];
            if (value < 1000000u)
                sum += weight_out_of_line(value) ^ sum >> 3;
            else
                sum -= weight_out_of_line(value) >> 3;
        }
    } else {
        for (unsigned i = 0; i < values; ++i) {
            const uint32_t value = from[i ^ order];
            if (value < 1000000u)
                sum += weight(value) ^ sum >> 3;
            else
                sum -= value >> 1;
            if (way == extra_work) sum += mix(value);
        }
    }
    return sum;
}
