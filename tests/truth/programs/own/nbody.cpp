// Five bodies that attract one another.
#include <cmath>

#include "common.h"

int main() {
    const int n = 5;
    double x[n][3], v[n][3], mass[n];
    for (int i = 0; i < n; ++i) {
        mass[i] = 1.0 / (i + 1);
        for (int k = 0; k < 3; ++k) x[i][k] = i * (k + 1.5) + 1, v[i][k] = 0.1 * (i - k);
    }
    for (int step = 0; step < 6000000; ++step) {
        for (int i = 0; i < n; ++i)
            for (int j = i + 1; j < n; ++j) {
                double d[3], squared = 0.01;
                for (int k = 0; k < 3; ++k) d[k] = x[i][k] - x[j][k], squared += d[k] * d[k];
                const double force = 1e-3 / (squared * std::sqrt(squared));
                for (int k = 0; k < 3; ++k) v[i][k] -= d[k] * mass[j] * force, v[j][k] += d[k] * mass[i] * force;
            }
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < 3; ++k) x[i][k] += 1e-3 * v[i][k];
    }
    return answer(static_cast<std::uint64_t>(std::abs(x[0][0]) * 1e6));
}
