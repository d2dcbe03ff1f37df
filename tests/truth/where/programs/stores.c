#include "common.h"

/* A line of each page of what fits nowhere: the store buffer is full of stores that wait for their lines. */
KEEP void scatter(uint64_t* memory, size_t words, uint64_t rounds) {
    uint64_t at = 1;
    for (uint64_t i = 0; i < rounds; ++i) {
        at = at * 5 + 1;
        memory[(at * 8) & (words - 1)] = i;  /* PLANTED */
    }
}

int main(void) {
    enum { huge = 2 << 20 };
    const size_t bytes = 256ul << 20;
    char* memory = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = (char*)(((uintptr_t)memory + huge - 1) & ~(uintptr_t)(huge - 1));
    madvise(memory, bytes, MADV_HUGEPAGE);
    scatter((uint64_t*)memory, bytes / 8, 60000000);
    return 0;
}
