// Binary trees on the heap: built, walked, thrown away.
#include <memory>

#include "common.h"

struct Node {
    std::unique_ptr<Node> left, right;
};

static std::unique_ptr<Node> build(int depth) {
    auto node = std::make_unique<Node>();
    if (depth > 0) node->left = build(depth - 1), node->right = build(depth - 1);
    return node;
}

static std::uint64_t count(const Node& node) { return node.left ? 1 + count(*node.left) + count(*node.right) : 1; }

int main() {
    std::uint64_t sum = 0;
    for (int i = 0; i < 150; ++i) sum += count(*build(16));
    return answer(sum);
}
