/* A benchmark in parts, one function each, so that they can be linked in any order. How many of a thousand rounds go
   the slow way, and which way that is, is compiled in: */
#ifndef SLOW
#define SLOW 0 /* rounds of ROUNDS */
#endif
#ifndef ROUNDS
#define ROUNDS 2000
#endif

enum way { usual, extra_work, worse_locality, mispredicted, not_inlined, split_lines };
#ifndef WAY
#define WAY usual
#endif

#include <stddef.h>
#include <stdint.h>

enum { values = 4096, text_bytes = 16384, buckets = 1024 };

extern uint32_t *sorted, *shuffled, *order_near, *order_far;
extern unsigned char *split_values, *text, *text_random;

void prepare(void);
uint64_t records_round(enum way way, uint64_t seed);
uint64_t words_round(enum way way, uint64_t seed);
uint64_t trees_round(enum way way, uint64_t seed);
uint64_t tables_round(enum way way, uint64_t seed);
uint64_t waves_round(enum way way, uint64_t seed);
uint32_t weight_out_of_line(uint32_t value);
uint32_t mix(uint32_t value);
/* Another order of so many things, a power of two, in each round: one that came before can be learnt by heart. */
static inline unsigned other_order(uint64_t seed, unsigned things) {
    return (unsigned)(seed * 0x9e3779b97f4a7c15ull >> 32) & (things - 1);
}
