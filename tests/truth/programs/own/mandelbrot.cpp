// The set by plain iteration, one point at a time.
#include "common.h"

int main() {
    const int n = 1500, most = 200;
    std::uint64_t sum = 0;
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            const double cr = 3.0 * x / n - 2, ci = 2.0 * y / n - 1;
            double zr = 0, zi = 0;
            int i = 0;
            for (; i < most && zr * zr + zi * zi < 4; ++i) {
                const double t = zr * zr - zi * zi + cr;
                zi = 2 * zr * zi + ci;
                zr = t;
            }
            sum += i;
        }
    return answer(sum);
}
