#include "template.h"

[[gnu::noinline]] static std::uint64_t all(std::uint64_t value) { return mixed<9>(value); }

int main() {
    std::uint64_t value = 1;
    for (int i = 0; i < 700000; ++i) value = all(value);
    return value == 2;
}
