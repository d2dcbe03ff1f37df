#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { side = 64, points = side * side, far_side = 1040 };

static float *field, *result, *far_field;
static unsigned char* shifted;
static uint16_t *steady, *restless;

static float smooth(float left, float here, float right) { return 0.25f * left + 0.5f * here + 0.25f * right; }
__attribute__((noinline)) static float smooth_out_of_line(float left, float here, float right) {
    return smooth(left, here, right);
}

static void begin(void) {
    field = aligned_alloc(64, points * sizeof *field);
    result = aligned_alloc(64, points * sizeof *result);
    far_field = aligned_alloc(64, (size_t)far_side * side * sizeof *far_field);
    shifted = aligned_alloc(64, points * sizeof *field + 128);
    steady = malloc(points * sizeof *steady);
    restless = malloc(points * sizeof *restless);
    if (!field || !result || !far_field || !shifted || !steady || !restless) abort();
    for (unsigned i = 0; i < points; ++i) {
        field[i] = (float)(mix(i) & 1023);
        steady[i] = (uint16_t)i;
        restless[i] = (uint16_t)mix(i);
    }
    memset(result, 0, points * sizeof *result);
    for (size_t i = 0; i < (size_t)far_side * side; ++i) far_field[i] = (float)(mix((uint32_t)i) & 1023);
    memcpy(shifted + 62, field, points * sizeof *field);
}

/* Smooths a field of numbers, and counts which are above a limit. */
uint64_t waves_round(enum way way, uint64_t seed) {
    if (!field) begin();
    uint64_t high = seed & 1;
    if (way == worse_locality) {
        for (unsigned column = 0; column < side; ++column)
            for (unsigned row = 1; row + 1 < side; ++row)
                result[row * side + column] =
                    smooth(far_field[(row - 1) * far_side + column], far_field[row * far_side + column],
                           far_field[(row + 1) * far_side + column]);
    } else if (way == not_inlined) {
        for (unsigned i = 1; i + 1 < points; ++i) result[i] = smooth_out_of_line(field[i - 1], field[i], field[i + 1]);
    } else {
        const float* from = way == split_lines ? (const float*)(shifted + 62) : field;
        for (unsigned i = 1; i + 1 < points; ++i) result[i] = smooth(from[i - 1], from[i], from[i + 1]);
        if (way == extra_work)
            for (unsigned i = 1; i + 1 < points; ++i) result[i] = smooth(result[i], from[i], from[i + 1]);
    }
    const uint16_t* numbers = way == mispredicted ? restless : steady;
    const unsigned order = way == mispredicted ? other_order(seed, points) : 0;
    for (unsigned i = 0; i < points; ++i) {
        if (numbers[i ^ order] & 2048)
            high += mix((unsigned)i);
        else
            high ^= (uint64_t)i << 7;
    }
    return high + (uint64_t)result[seed % points];
}
