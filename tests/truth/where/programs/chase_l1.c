#include "common.h"

KEEP void** walk(void** node, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        node = (void**)*node;  /* PLANTED */
    }
    return node;
}

int main(void) {
    enum { nodes = 128, stride = 64 };
    return walk(random_ring(small_pages(nodes * stride), nodes, stride), 200000000) == NULL;
}
