#include "model/llvm/extensions.h"

#include <gmock/gmock.h>

// The instructions are x86-64's.
#if defined(__x86_64__)

namespace tmaprobe::model::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ExtensionsOfX86 : public testing::Test {
  protected:
    std::unique_ptr<Extensions> extensions_ = std::move(*make_extensions({}, "x86_64"));

    std::vector<std::string> of(std::initializer_list<int> code) {
        std::array<std::uint8_t, 16> bytes{};
        std::copy(code.begin(), code.end(), bytes.begin());
        return extensions_->needed(bytes, static_cast<std::uint8_t>(code.size()));
    }
};

TEST_F(ExtensionsOfX86, AreThoseOfTheManual) {
    EXPECT_THAT(of({0x0f, 0x58, 0xc1}), IsEmpty());                                       // addps
    EXPECT_THAT(of({0xf0, 0x48, 0x0f, 0xb1, 0x0e}), IsEmpty());                           // lock cmpxchg
    EXPECT_THAT(of({0xf3, 0x0f, 0xb8, 0xc1}), ElementsAre("popcnt"));                     // popcnt
    EXPECT_THAT(of({0x66, 0x0f, 0x38, 0x00, 0xc1}), ElementsAre("ssse3"));                // pshufb
    EXPECT_THAT(of({0x66, 0x0f, 0x38, 0x40, 0xc1}), ElementsAre("sse4.1"));               // pmulld
    EXPECT_THAT(of({0x66, 0x0f, 0x38, 0x37, 0xc1}), ElementsAre("sse4.2"));               // pcmpgtq
    EXPECT_THAT(of({0x0f, 0x38, 0xcb, 0xc1}), ElementsAre("sha"));                        // sha256rnds2
    EXPECT_THAT(of({0xc4, 0xe2, 0x78, 0xf2, 0xc1}), ElementsAre("bmi"));                  // andn
    EXPECT_THAT(of({0xc4, 0xe2, 0x79, 0xf7, 0xc1}), ElementsAre("bmi2"));                 // shlx
    EXPECT_THAT(of({0xc5, 0xfc, 0x58, 0xc1}), ElementsAre("avx"));                        // vaddps ymm
    EXPECT_THAT(of({0xc5, 0xf9, 0xfe, 0xc1}), ElementsAre("avx"));                        // vpaddd xmm
    EXPECT_THAT(of({0xc5, 0xfd, 0xfe, 0xc1}), UnorderedElementsAre("avx", "avx2"));       // vpaddd ymm
    EXPECT_THAT(of({0xc4, 0xe2, 0x75, 0xb8, 0xc2}), UnorderedElementsAre("avx", "fma"));  // vfmadd231ps
    EXPECT_THAT(of({0xc5, 0xf8, 0x90, 0xc1}), ElementsAre("avx512f"));                    // kmovw
    EXPECT_THAT(of({0xc4, 0xe1, 0xf8, 0x90, 0xc1}), ElementsAre("avx512bw"));             // kmovq
    EXPECT_THAT(of({0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1}), ElementsAre("avx512f"));        // vaddps zmm
    EXPECT_THAT(of({0x62, 0xf1, 0x7c, 0x28, 0x58, 0xc1}), UnorderedElementsAre("avx512f", "avx512vl"));
    EXPECT_THAT(of({0x62, 0xf1, 0x7d, 0x48, 0xfc, 0xc1}), UnorderedElementsAre("avx512f", "avx512bw"));  // vpaddb
    EXPECT_THAT(of({0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2}), UnorderedElementsAre("avx512f", "avx512vnni"));
}

TEST_F(ExtensionsOfX86, AreKnownOfCpus) {
    EXPECT_TRUE(extensions_->has("haswell", "avx2"));
    EXPECT_FALSE(extensions_->has("sandybridge", "avx2"));
    EXPECT_FALSE(extensions_->has("znver3", "avx512f"));
    EXPECT_TRUE(extensions_->has("znver4", "avx512f"));
    EXPECT_FALSE(extensions_->has("cascadelake", "sha"));
    EXPECT_TRUE(extensions_->has("a core that nobody knows", "avx512f"));
}

}  // namespace
}  // namespace tmaprobe::model::core
#endif
