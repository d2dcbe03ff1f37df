#include "common.h"

/* Each load is 4 KiB beyond a store that is still in the store buffer: their low twelve bits are equal. */
KEEP uint64_t copies(volatile uint64_t* to, volatile uint64_t* from, uint64_t rounds) {
    uint64_t index = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        to[index] = i;
        index = from[index];  /* PLANTED */
    }
    return index;
}

int main(void) {
    char* memory = small_pages(1 << 20);
    memset(memory, 0, 1 << 20);
    sink = copies((uint64_t*)memory, (uint64_t*)(memory + 4096), 200000000);
    return 0;
}
