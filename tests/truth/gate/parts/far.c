#include "common.h"

uint32_t weight_out_of_line(uint32_t value) { return value * 3 + (value >> 2); }

uint32_t mix(uint32_t value) {
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}
