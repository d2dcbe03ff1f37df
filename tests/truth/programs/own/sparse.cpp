// Sparse matrix times vector: gathers from 8 MB by indices in random order.
#include <vector>

#include "common.h"

int main() {
    const std::size_t rows = 1000000, per_row = 6;
    std::uint64_t state = 1;
    std::vector<std::uint32_t> column(rows * per_row);
    std::vector<double> value(rows * per_row, 0.5), x(rows, 1.0), y(rows);
    for (auto& c : column) c = static_cast<std::uint32_t>(next_random(state) % rows);
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < rows; ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < per_row; ++k) sum += value[i * per_row + k] * x[column[i * per_row + k]];
            y[i] = sum * 0.3;
        }
        x.swap(y);
    }
    return answer(static_cast<std::uint64_t>(x[7] * 1e6));
}
