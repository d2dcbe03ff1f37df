#include "common.h"

KEEP void** walk(void** node, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        node = (void**)*node;  /* PLANTED */
    }
    return node;
}

/* One line of each of 8192 pages: the lines fit into the second-level cache or nearly, the translations nowhere. */
int main(void) {
    enum { pages = 8192 };
    char* memory = small_pages(pages * 4160ul);
    return walk(random_ring(memory, pages, 4160), 60000000) == NULL;
}
