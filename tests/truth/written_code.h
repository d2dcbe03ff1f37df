#pragma once

// Code that the tools beside this write byte by byte and then execute: x86-64.

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <vector>

#include "by_clock.h"

/// Written from its beginning on.
class Code {
  public:
    std::size_t size() const { return bytes_.size(); }
    void put(std::initializer_list<int> bytes) {
        for (const int byte : bytes) bytes_.push_back(static_cast<std::uint8_t>(byte));
    }
    void number(std::uint32_t value) {
        std::uint8_t as_bytes[sizeof value];
        std::memcpy(as_bytes, &value, sizeof value);
        bytes_.insert(bytes_.end(), as_bytes, as_bytes + sizeof value);
    }
    /// Of four bytes each.
    void no_operations(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) put({0x0f, 0x1f, 0x40, 0});
    }
    /// What is never executed.
    void fill_to(std::size_t size) { bytes_.resize(std::max(size, bytes_.size()), 0xcc); }
    /// A jump or call, by its opcode, to that place.
    void branch(std::initializer_list<int> opcode, std::size_t target) {
        put(opcode);
        number(static_cast<std::uint32_t>(target - (bytes_.size() + sizeof(std::uint32_t))));
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
};

/// Memory for code, from the beginning of a page on. It stays for as long as the process.
class CodeMemory {
  public:
    explicit CodeMemory(std::size_t bytes) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) memory_ = static_cast<std::uint8_t*>(memory);
    }
    bool is_there() const { return memory_ != nullptr; }
    std::uint8_t* begin() const { return memory_; }
    /// Takes the place of what was there.
    template <class Function>
    Function hold(const Code& code) const {
        std::memcpy(memory_, code.bytes().data(), code.size());
        Function function;
        std::memcpy(&function, &memory_, sizeof function);
        return function;
    }

  private:
    std::uint8_t* memory_ = nullptr;
};

/// Jumps of five bytes, so many bytes from one to the next, of which so many lie between a jump and its target.
inline void jumps(Code& code, std::size_t count, std::size_t apart, std::size_t skipped) {
    constexpr std::size_t jump = 5, no_operation = 4;
    for (std::size_t i = 0; i < count; ++i) {
        code.no_operations((apart - jump - skipped) / no_operation);
        code.branch({0xe9}, code.size() + jump + skipped);
        code.fill_to(code.size() + skipped);
    }
}

/// A loop that was written: how many rounds, and what its code finds in rsi and rdx.
using WrittenLoop = void (*)(std::uint64_t rounds, const void*, const void*);

/// Cycles of a round of what `body` writes, from the beginning of a line on; its rounds are counted in r15.
inline double cycles_a_round(const CodeMemory& memory, const std::function<void(Code&)>& body, std::size_t rounds) {
    Code code;
    code.put({0x41, 0x57, 0x49, 0x89, 0xff});  // push r15; mov r15, rdi
    while (code.size() % line_bytes) code.put({0x90});
    const std::size_t start = code.size();
    body(code);
    code.put({0x49, 0xff, 0xcf});      // dec r15
    code.branch({0x0f, 0x85}, start);  // jnz
    code.put({0x41, 0x5f, 0xc3});      // pop r15; ret
    const auto run = memory.hold<WrittenLoop>(code);
    const double cycle = cycle_ns();
    return least_ns(15, [&] { run(rounds, nullptr, nullptr); }) / static_cast<double>(rounds) / cycle;
}
