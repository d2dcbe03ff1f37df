#include "kernels/sha256/sha256.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/sha256/descriptor.h"

namespace tmaprobe::kernels::sha256 {
namespace {

/// Square roots of the first eight primes, the first 32 bits of their fractional parts.
constexpr State initial_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

class Sha256Kernel final : public Kernel {
  public:
    Sha256Kernel(Compress compress, memory::Buffer message) : compress_(compress), message_(std::move(message)) {
        auto* bytes = reinterpret_cast<std::uint8_t*>(message_.data());
        for (std::uint64_t i = 0; i < message_.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 131 >> 3);
    }

    void run(std::uint64_t iterations) override {
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(message_.data()), message_.size());
        for (; iterations; --iterations) digest_ = hash(compress_, bytes);
    }

    Work per_iteration() const override {
        Work work;
        work.operations = static_cast<double>(blocks_of(message_.size()));
        work.bytes = static_cast<double>(message_.size());
        return work;
    }

    memory::ObtainedBytes obtained_pages() const override { return message_.obtained(); }

    std::map<std::string, std::string> parameters() const override {
        return {{"size_bytes", std::to_string(message_.size())}};
    }

  private:
    Compress compress_;
    memory::Buffer message_;
    Digest digest_{};  ///< kept, so that the work has a result
};

Result<std::unique_ptr<Kernel>> make(const std::string& variant, const Parameters& parameters) {
    static const KernelDescriptor facts = descriptor();
    TRY(check_parameters(facts, parameters));
    const Compress compress = find_compress(variant.c_str());
    if (!compress) return fail(ErrorCode::bad_usage, "sha256 has no variant '" + variant + "' in this build");
    const std::uint64_t bytes = parameters.size_bytes ? parameters.size_bytes : facts.default_size;
    auto message = TRY(memory::Buffer::allocate(bytes, parameters.pages, parameters.numa_node));
    return std::make_unique<Sha256Kernel>(compress, std::move(message));
}

}  // namespace

Compress find_compress(const char* variant) {
    const std::string_view name = variant;
    if (name == "portable") return compress_portable;
#if defined(__x86_64__)
    if (name == "shani") return compress_shani;
    if (name == "avx2") return compress_avx2;
    if (name == "ssse3") return compress_ssse3;
#elif defined(__aarch64__)
    if (name == "armv8") return compress_armv8;
#endif
    return nullptr;
}

Digest hash(Compress compress, std::span<const std::uint8_t> message) {
    State state = initial_state;
    const std::size_t whole = message.size() / 64;
    compress(state, message.data(), whole);

    // The last one or two blocks: what is left, a 1 bit, zeros, the length in bits, highest byte first.
    std::array<std::uint8_t, 128> tail{};
    const std::size_t left = message.size() - 64 * whole;
    const std::size_t tail_blocks = blocks_of(message.size()) - whole;
    if (left) std::memcpy(tail.data(), message.data() + 64 * whole, left);
    tail[left] = 0x80;
    const std::uint64_t bits = 8 * std::uint64_t{message.size()};
    for (std::size_t i = 0; i < 8; ++i) tail[64 * tail_blocks - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    compress(state, tail.data(), tail_blocks);

    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

KernelDescriptor descriptor() {
    const auto variant = [](const char* name, const char* what, std::vector<std::string> needs) {
        return Variant{name, what, std::move(needs), find_compress(name) != nullptr};
    };
    KernelDescriptor kernel;
    kernel.name = "sha256";
    kernel.what = "SHA-256 of one message, over and over";
    kernel.operation = "64-byte block";
    kernel.bottleneck = "backend: execution inside the core, not memory";
    kernel.variants = {
        variant("shani", "the SHA extensions of x86", {"sha_ni", "sse4_1", "ssse3"}),
        variant("armv8", "the SHA-2 instructions of Armv8", {"sha2"}),
        variant("avx2", "message schedules of two blocks in AVX2, rounds with BMI2", {"avx2", "bmi1", "bmi2"}),
        variant("ssse3", "message schedule in SSSE3", {"ssse3"}),
        variant("portable", "plain C++", {}),
    };
    kernel.uses_memory = true;
    kernel.default_size = 16384;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::sha256
