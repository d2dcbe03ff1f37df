#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tmaprobe::report {

/// The fields of one message, as protobuf.dev/programming-guides/encoding has them on the wire.
class Protobuf {
  public:
    /// A number that is 0 is left out, as its default.
    Protobuf& number(unsigned field, std::uint64_t value) {
        if (!value) return *this;
        varint(std::uint64_t{field} << 3);
        varint(value);
        return *this;
    }
    /// A text, or a message.
    Protobuf& bytes(unsigned field, const std::string& value) {
        varint(std::uint64_t{field} << 3 | length_delimited);
        varint(value.size());
        bytes_ += value;
        return *this;
    }
    Protobuf& packed(unsigned field, const std::vector<std::uint64_t>& values) {
        Protobuf numbers;
        for (const std::uint64_t value : values) numbers.varint(value);
        return bytes(field, numbers.bytes_);
    }
    /// All fields of another.
    Protobuf& add(const Protobuf& other) {
        bytes_ += other.bytes_;
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

  private:
    static constexpr std::uint64_t length_delimited = 2;
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }
    std::string bytes_;
};

}  // namespace tmaprobe::report
