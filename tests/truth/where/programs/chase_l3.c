#include "common.h"

KEEP void** walk(void** node, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        node = (void**)*node;  /* PLANTED */
    }
    return node;
}

int main(void) {
    enum { nodes = 65536, stride = 64 };
    return walk(random_ring(small_pages(nodes * stride), nodes, stride), 20000000) == NULL;
}
