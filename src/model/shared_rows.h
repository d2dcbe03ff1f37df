#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tmaprobe::model {

/// A table of rows whose copies share what neither has changed since: a simulation with another assumption
/// starts from a copy of megabytes of state and touches little of it. What was never written holds `fill`
/// and takes no memory.
template <class T>
class SharedRows {
  public:
    SharedRows() = default;
    SharedRows(std::size_t rows, std::size_t width, T fill)
        : width_(width),
          fill_(fill),
          shift_(static_cast<unsigned>(std::bit_width(std::max<std::size_t>(1, piece_bytes / sizeof(T) / width)) - 1)),
          pieces_((rows >> shift_) + 1) {}

    /// The row to look at; null where nothing was ever written.
    const T* look(std::size_t row) const {
        const auto& piece = pieces_[row >> shift_];
        return piece ? piece.get() + place(row) : nullptr;
    }
    /// The row to change, of this copy alone.
    T* change(std::size_t row) {
        auto& piece = pieces_[row >> shift_];
        const std::size_t length = width_ << shift_;
        if (!piece) {
            piece = std::make_shared<T[]>(length, fill_);
        } else if (piece.use_count() > 1) {
            const auto shared = std::exchange(piece, std::make_shared<T[]>(length));
            std::copy_n(shared.get(), length, piece.get());
        }
        return piece.get() + place(row);
    }

  private:
    static constexpr std::size_t piece_bytes = 4096;
    std::size_t place(std::size_t row) const { return (row & ((std::size_t{1} << shift_) - 1)) * width_; }

    std::size_t width_ = 1;
    T fill_{};
    unsigned shift_ = 0;  ///< log2 of a piece's rows
    std::vector<std::shared_ptr<T[]>> pieces_;
};

}  // namespace tmaprobe::model
