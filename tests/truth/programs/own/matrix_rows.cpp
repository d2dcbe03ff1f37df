// Product of matrices with the inner loop along rows, which the compiler makes vectors of.
#include <vector>

#include "common.h"

int main() {
    const int n = 900;
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 11;
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) {
            const double factor = a[i * n + k];
            for (int j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
        }
    return answer(static_cast<std::uint64_t>(c[n + 3]));
}
