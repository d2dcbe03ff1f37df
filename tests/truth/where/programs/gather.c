#include "common.h"

KEEP uint64_t gather(const uint64_t* table, const uint32_t* index, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += table[index[i]];  /* PLANTED */
    }
    return sum;
}

int main(void) {
    enum { words = 1 << 25, indices = 1 << 21 };  /* 256 MiB */
    uint64_t state = 1234567;
    uint64_t* table = mmap(NULL, words * 8ul + (2ul << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    table = (uint64_t*)(((uintptr_t)table + (2ul << 20) - 1) & ~((2ul << 20) - 1));
    madvise(table, words * 8ul, MADV_HUGEPAGE);
    uint32_t* index = malloc(indices * sizeof *index);
    for (size_t i = 0; i < words; i += 8) table[i] = i;
    for (size_t i = 0; i < indices; ++i) index[i] = (uint32_t)(next_random(&state) >> 20) % words;
    uint64_t sum = 0;
    for (int round = 0; round < 30; ++round) {
        sum += gather(table, index, indices);
        __asm__ volatile("" ::: "memory");
    }
    sink = sum;
    return 0;
}
