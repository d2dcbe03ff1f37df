/* One function, called by two others for seven parts and three of its time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_INLINED __attribute__((noinline, noclone))

NOT_INLINED static uint64_t divides(uint64_t x, long times) {
    for (long i = 0; i < times; ++i) x = 0xfffffffffffffffull / (x | 1) + 3;
    return x;
}

NOT_INLINED static uint64_t calls_seven(uint64_t x, long times) { return divides(x, 7 * times) + 1; }
NOT_INLINED static uint64_t calls_three(uint64_t x, long times) { return divides(x, 3 * times) + 2; }

/* The way there is a library's, through a pointer. */
static uint64_t sum;
static long each;
NOT_INLINED static int compares(const void *a, const void *b) {
    sum = calls_seven(sum, each);
    sum = calls_three(sum, each);
    return *(const int *)a - *(const int *)b;
}

int main(int count, char **words) {
    const long times = count > 1 ? atol(words[1]) : 1000;
    each = 100;
    int numbers[64];
    for (long i = 0; i < times; ++i) {
        for (int n = 0; n < 64; ++n) numbers[n] = n * 37 % 64;
        qsort(numbers, 64, sizeof *numbers, compares);
    }
    printf("%d\n", sum == 12345);
    return 0;
}
