#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/file.h"

#include "base/sizes.h"
#include "memory/pages.h"

namespace tmaprobe::memory {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

std::uint64_t sum(const ObtainedBytes& obtained) {
    std::uint64_t bytes = 0;
    for (const auto& [page, count] : obtained) bytes += count;
    return bytes;
}

/// Runs a part in a child, whose limits are its own; its exit status.
template <class Part>
int in_child(Part part) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(part());
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST(Buffer, BasePagesAreSmallEvenWhereHugeOnesAreOnOffer) {
    const auto buffer = Buffer::allocate(8 * mebibyte, page_modes().front());
    ASSERT_TRUE(buffer) << buffer.error().what;
    if (buffer->obtained().empty()) GTEST_SKIP() << "/proc/self/smaps tells nothing here";
    EXPECT_EQ(buffer->obtained(), (ObtainedBytes{{format_page_size(base_page_bytes()), 8 * mebibyte}}));
}

TEST(Buffer, HasNoPageModeOfItsOwnMeansBasePages) {
    const auto buffer = Buffer::allocate(10'000, {});
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->mode().name, format_page_size(base_page_bytes()));
    EXPECT_EQ(buffer->size(), 10'000U);
}

TEST(Buffer, TransparentHugePagesAreCountedAsTheyCameOut) {
    const auto mode = parse_page_mode("thp");
    if (!mode) GTEST_SKIP() << mode.error().what;
    const auto buffer = Buffer::allocate(8 * mebibyte, *mode);
    ASSERT_TRUE(buffer) << buffer.error().what;
    if (buffer->obtained().empty()) GTEST_SKIP() << "/proc/self/smaps tells nothing here";
    EXPECT_GE(sum(buffer->obtained()), 8 * mebibyte);
    if (read_line("/sys/kernel/mm/transparent_hugepage/enabled").find("[never]") != std::string::npos)
        EXPECT_EQ(buffer->obtained().count(format_page_size(mode->page_bytes)), 0U);
}

TEST(Buffer, ReservedHugePagesComeWholeOrNotAtAll) {
    int tried = 0;
    for (const PageMode& mode : page_modes()) {
        if (!mode.hugetlb) continue;
        ++tried;
        const auto buffer = Buffer::allocate(mode.page_bytes + 1, mode);
        if (buffer) {
            EXPECT_EQ(buffer->obtained(), (ObtainedBytes{{mode.name, 2 * mode.page_bytes}}));
        } else {
            EXPECT_EQ(buffer.error().code, ErrorCode::unavailable);
            EXPECT_NE(buffer.error().hint.find("nr_hugepages"), std::string::npos) << buffer.error().hint;
        }
        // However many there are: not a million.
        EXPECT_FALSE(Buffer::allocate(mode.page_bytes * 1'000'000, mode));
    }
    if (!tried) GTEST_SKIP() << "this kernel has no hugetlb pools";
}

TEST(Buffer, IsAllThereAndZeroAndWritable) {
    auto buffer = Buffer::allocate(mebibyte + 17, {});
    ASSERT_TRUE(buffer);
    for (std::uint64_t i = 0; i < buffer->size(); i += 511) EXPECT_EQ(buffer->data()[i], std::byte{0});
    std::memset(buffer->data(), 0x5a, buffer->size());
    EXPECT_EQ(buffer->data()[mebibyte + 16], std::byte{0x5a});
    if (!buffer->obtained().empty()) EXPECT_GE(sum(buffer->obtained()), buffer->size());
}

TEST(Buffer, DoesNotCountItsNeighbours) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 4; ++i) buffers.push_back(*Buffer::allocate(64 << 10, {}));
    for (Buffer& buffer : buffers) {
        buffer.verify();
        if (!buffer.obtained().empty()) EXPECT_EQ(sum(buffer.obtained()), 64U << 10);
    }
}

TEST(Buffer, MovesItsMemoryAlong) {
    auto first = Buffer::allocate(4096, {});
    auto second = Buffer::allocate(8192, {});
    std::byte* const data = first->data();
    *second = std::move(*first);
    EXPECT_EQ(second->data(), data);
    EXPECT_EQ(second->size(), 4096U);
    second->data()[0] = std::byte{1};
}

TEST(Buffer, RefusesNothingAndMoreThanThereIs) {
    EXPECT_EQ(Buffer::allocate(0, {}).error().code, ErrorCode::bad_usage);
    EXPECT_EQ(Buffer::allocate(~std::uint64_t{0}, {}).error().code, ErrorCode::bad_usage);
    for (const std::uint64_t bytes : {std::uint64_t{1} << 44, std::uint64_t{1} << 61}) {
        const auto refused = Buffer::allocate(bytes, {});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << bytes;
    }
}

TEST(Buffer, RefusesWhatALimitOnAddressSpaceForbids) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "AddressSanitizer itself needs more address space than such a limit leaves";
#endif
    const int status = in_child([] {
        const rlimit limit{512 * mebibyte, 512 * mebibyte};
        ::setrlimit(RLIMIT_AS, &limit);
        const auto refused = Buffer::allocate(1024 * mebibyte, {});
        return !refused && refused.error().code == ErrorCode::unavailable ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
}

TEST(Buffer, BindsToANodeThatIsThereAndRefusesOthers) {
    const auto bound = Buffer::allocate(mebibyte, {}, 0);
    if (!bound && bound.error().code == ErrorCode::no_permission) GTEST_SKIP() << bound.error().what;
    ASSERT_TRUE(bound) << bound.error().what;
    for (const int node : {-1, 700, 100'000}) {
        const auto refused = Buffer::allocate(mebibyte, {}, node);
        ASSERT_FALSE(refused) << node;
        EXPECT_EQ(refused.error().code, ErrorCode::bad_usage) << refused.error().what;
    }
}

TEST(Buffer, MappedLeavesTouchingToTheThreads) {
    auto buffer = Buffer::map(4 * mebibyte, {});
    ASSERT_TRUE(buffer);
    EXPECT_TRUE(buffer->fault_in(mebibyte, mebibyte));
    buffer->verify();
    if (!buffer->obtained().empty()) EXPECT_EQ(sum(buffer->obtained()), mebibyte);
}

}  // namespace tmaprobe::memory
