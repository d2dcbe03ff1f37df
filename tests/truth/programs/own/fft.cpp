// A fast Fourier transform by recursion into halves, done in place, of a quarter of a million points.
#include <cmath>
#include <complex>
#include <vector>

#include "common.h"

using Point = std::complex<double>;

static void transform(std::vector<Point>& a) {
    const std::size_t n = a.size();
    for (std::size_t i = 1, j = 0; i < n; ++i) {
        std::size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(a[i], a[j]);
    }
    for (std::size_t length = 2; length <= n; length <<= 1) {
        const double angle = 2 * M_PI / static_cast<double>(length);
        const Point turn(std::cos(angle), std::sin(angle));
        for (std::size_t i = 0; i < n; i += length) {
            double wr = 1, wi = 0;
            for (std::size_t j = 0; j < length / 2; ++j) {
                const Point u = a[i + j], t = a[i + j + length / 2];
                const Point v(t.real() * wr - t.imag() * wi, t.real() * wi + t.imag() * wr);
                a[i + j] = u + v;
                a[i + j + length / 2] = u - v;
                const double next = wr * turn.real() - wi * turn.imag();
                wi = wr * turn.imag() + wi * turn.real();
                wr = next;
            }
        }
    }
}

int main() {
    std::vector<Point> points(1 << 18);
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = Point(static_cast<double>(i % 17), 0);
    for (int round = 0; round < 40; ++round) {
        transform(points);
        for (auto& p : points) p /= 512.0;
    }
    return answer(static_cast<std::uint64_t>(std::abs(points[5].real()) * 1000));
}
