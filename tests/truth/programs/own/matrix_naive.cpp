// Product of matrices in the order of the textbook: the inner loop goes down a column.
#include <vector>

#include "common.h"

int main() {
    const int n = 640;
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 11;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    return answer(static_cast<std::uint64_t>(c[n + 3]));
}
