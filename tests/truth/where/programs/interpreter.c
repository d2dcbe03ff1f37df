#include "common.h"

/* Operations in random order through one indirect jump. */
KEEP uint64_t interpret(const uint8_t* code, uint64_t rounds) {
    static const void* const operations[] = {&&add, &&exclusive, &&turn, &&twice};
    uint64_t value = 1, i = 0;
next:
    if (i == rounds) return value;
    goto *operations[code[i++ & 65535]];  /* PLANTED */
add:
    value += i;
    goto next;
exclusive:
    value ^= i;
    goto next;
turn:
    value = value << 1 | value >> 63;
    goto next;
twice:
    value *= 2;
    goto next;
}

int main(void) {
    static uint8_t code[65536];
    uint64_t state = 1234567;
    for (int i = 0; i < 65536; ++i) code[i] = (uint8_t)(next_random(&state) >> 32) & 3;
    sink = interpret(code, 80000000);
    return 0;
}
