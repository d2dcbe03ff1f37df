#include <cstdint>
#include <memory>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual std::uint64_t area(std::uint64_t side) const = 0;
};
template <int factor>
struct Of : Shape {
    std::uint64_t area(std::uint64_t side) const override { return side * factor; }
};

[[gnu::noinline]] static std::uint64_t all_areas(const std::vector<std::unique_ptr<Shape>>& shapes) {
    std::uint64_t sum = 0;
    for (const auto& shape : shapes) {
        sum += shape->area(sum);  // PLANTED
    }
    return sum;
}

int main() {
    std::uint64_t state = 88172645463325252u, sum = 0;
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 20000; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        switch (state >> 40 & 3) {
            case 0:
                shapes.push_back(std::make_unique<Of<1>>());
                break;
            case 1:
                shapes.push_back(std::make_unique<Of<3>>());
                break;
            case 2:
                shapes.push_back(std::make_unique<Of<5>>());
                break;
            default:
                shapes.push_back(std::make_unique<Of<7>>());
        }
    }
    for (int i = 0; i < 3000; ++i) sum += all_areas(shapes);
    return sum == 1;
}
