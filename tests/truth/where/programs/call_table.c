#include "common.h"

/* 1024 short pieces of code, each of its own 512 bytes, called one after another: more than a first-level cache. */
#define CALL "call 1f\n .balign 512\n 1: add $8, %%rsp\n add $1, %0\n xor $3, %0\n rol $1, %0\n"
#define CALL8 CALL CALL CALL CALL CALL CALL CALL CALL
#define CALL64 CALL8 CALL8 CALL8 CALL8 CALL8 CALL8 CALL8 CALL8
#define CALL512 CALL64 CALL64 CALL64 CALL64 CALL64 CALL64 CALL64 CALL64

KEEP uint64_t calls(uint64_t value) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n" CALL512 CALL512 "lea 128(%%rsp), %%rsp\n" : "+r"(value));  /* PLANTED */
    return value;
}

int main(void) {
    uint64_t value = 1;
    for (int i = 0; i < 120000; ++i) value = calls(value);
    sink = value;
    return 0;
}
