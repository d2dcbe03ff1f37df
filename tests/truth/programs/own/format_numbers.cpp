// Numbers to text and back by the C library.
#include "common.h"

int main() {
    std::uint64_t state = 1, sum = 0;
    char text[64];
    for (int i = 0; i < 900000; ++i) {
        const double value = static_cast<double>(next_random(state) % 1000000) / 997.0;
        std::snprintf(text, sizeof text, "%.6f %d", value, i);
        sum += static_cast<std::uint64_t>(std::strtod(text, nullptr) * 10);
    }
    return answer(sum);
}
