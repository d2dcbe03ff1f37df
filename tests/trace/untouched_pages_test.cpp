#include "trace/untouched_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

namespace tmaprobe::trace {
namespace {

constexpr std::size_t page_bytes = 4096, pages = 8;

class Mapped {
  public:
    explicit Mapped(int file = -1)
        : at_(static_cast<volatile char*>(::mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0), file, 0))) {
        ::madvise(const_cast<char*>(at_), pages * page_bytes, MADV_NOHUGEPAGE);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() { ::munmap(const_cast<char*>(at_), pages * page_bytes); }
    void touch(std::size_t number) { at_[number * page_bytes] = 1; }
    std::uint64_t address(std::size_t number) const {
        return reinterpret_cast<std::uint64_t>(at_) + number * page_bytes + 5;
    }

  private:
    volatile char* at_;
};

TEST(UntouchedPages, AreThoseThatMemoryIsThereForAndNobodyWroteTo) {
    Mapped memory;
    memory.touch(2);
    memory.touch(7);
    const UntouchedPages untouched = UntouchedPages::of_process(::getpid());
    for (std::size_t number = 0; number < pages; ++number)
        EXPECT_EQ(untouched.contains(memory.address(number)), number != 2 && number != 7) << number;
    memory.touch(3);
    EXPECT_TRUE(untouched.contains(memory.address(3))) << "as it was";
    EXPECT_FALSE(UntouchedPages::of_process(::getpid()).contains(memory.address(3)));
}

TEST(UntouchedPages, AreNoFiles) {
    const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const Mapped mapped(file.get());
    EXPECT_FALSE(UntouchedPages::of_process(::getpid()).contains(mapped.address(1)));
}

TEST(UntouchedPages, AreAlsoWhatIsMappedLater) {
    const UntouchedPages before = UntouchedPages::of_process(::getpid());
    // Where nothing was.
    constexpr std::uint64_t nowhere = 0x3000'0000'0000;
    EXPECT_TRUE(before.contains(nowhere));
    EXPECT_FALSE(UntouchedPages().contains(nowhere)) << "nothing is known";
    EXPECT_FALSE(UntouchedPages::of_process(-1).contains(nowhere));
}

}  // namespace
}  // namespace tmaprobe::trace
