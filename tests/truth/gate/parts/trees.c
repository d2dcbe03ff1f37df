#include "common.h"

#include <stdlib.h>

struct node {
    struct node *less, *more;
    uint32_t key;
};

static struct node* nodes;

static struct node** place_of(struct node** root, uint32_t key) {
    while (*root && (*root)->key != key) root = key < (*root)->key ? &(*root)->less : &(*root)->more;
    return root;
}

/* Builds a tree of some keys, and looks others up in it. */
uint64_t trees_round(enum way way, uint64_t seed) {
    enum { keys = 256, places = 16 * values };
    struct node* root = NULL;
    uint64_t found = 0;
    const uint32_t* from = shuffled + (seed * 31) % (values - keys);
    if (!nodes) nodes = malloc(sizeof *nodes * places);
    for (unsigned i = 0; i < keys; ++i) {
        struct node** place = place_of(&root, from[i]);
        if (*place) continue;
        struct node* node = nodes + (way == worse_locality ? (i * 4099u + (unsigned)seed * 797u) % places : i);
        node->less = node->more = NULL;
        node->key = from[i];
        *place = node;
    }
    for (unsigned i = 0; i < keys; ++i) {
        found += *place_of(&root, from[keys - 1 - i]) != NULL;
        if (way == extra_work) found += mix((uint32_t)found) & 1;
    }
    return found;
}
