#include "common.h"

struct Node {
    struct Node* next;
    char rest[248];
};

KEEP struct Node* walk(struct Node* node, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        node = node->next;  /* PLANTED */
    }
    return node;
}

int main(void) {
    enum { nodes = 1 << 20, huge = 2 << 20 };  /* 256 MiB, of huge pages where there are any */
    char* memory = mmap(NULL, nodes * 256ul + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = (char*)(((uintptr_t)memory + huge - 1) & ~(uintptr_t)(huge - 1));
    madvise(memory, nodes * 256ul, MADV_HUGEPAGE);
    return walk((struct Node*)random_ring(memory, nodes, sizeof(struct Node)), 8000000) == NULL;
}
