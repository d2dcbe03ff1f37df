/*
 * Spends known shares of its time in two functions that execute the same instructions: 70% in often(), 30% in seldom().
 * (Of a time that advances with instructions: a real CPU may run one of them faster for where it lies.)
 * Which comes next is as good as random, so that nothing that looks at it at even times is in step with it.
 *
 *     shares TURNS    turns, each of 10,000 times around a loop of five instructions
 */
#include <stdio.h>
#include <stdlib.h>

#define SAME_WORK                                                                            \
    {                                                                                        \
        for (unsigned i = 0; i < 10000; ++i) __asm__ volatile("" : "+r"(i), "+r"(work));     \
        return work + 1;                                                                     \
    }

__attribute__((noinline)) unsigned often(unsigned work) SAME_WORK
__attribute__((noinline)) unsigned seldom(unsigned work) SAME_WORK

int main(int argc, char** argv) {
    const unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    unsigned work = 0, random = 1, most = turns / 10 * 7, rest = turns - most;
    while (most + rest > 0) {
        random = random * 1664525 + 1013904223;
        /* Of those that are left, each is as likely: the shares come out even. */
        if ((random >> 8) % (most + rest) < most) {
            work = often(work);
            --most;
        } else {
            work = seldom(work);
            --rest;
        }
    }
    return work == 0;
}
