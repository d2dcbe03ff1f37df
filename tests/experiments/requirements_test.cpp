#include "experiments/requirements.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

/// A machine's files with pools and settings of our own.
class FakeSystem : public ::testing::Test {
  protected:
    FakeSystem() {
        root_ = fs::temp_directory_path() / ("tmaprobe-requirements-" + std::to_string(::getpid()));
        fs::remove_all(root_);
        files_.sys = root_ / "sys";
        files_.proc = root_ / "proc";
        set("proc/meminfo", "MemAvailable: 1048576 kB");
        pool(0, 0);
        set("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    }
    ~FakeSystem() override { fs::remove_all(root_); }

    void set(const std::string& path, const std::string& text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << "\n";
    }
    void pool(int total, int free) {
        const std::string folder = "sys/kernel/mm/hugepages/hugepages-2048kB/";
        set(folder + "nr_hugepages", std::to_string(total));
        set(folder + "free_hugepages", std::to_string(free));
        for (const char* name : {"resv_hugepages", "nr_overcommit_hugepages", "surplus_hugepages"})
            set(folder + name, "0");
    }
    static MemoryNeed need(const std::string& mode, std::uint64_t bytes) {
        const bool huge = mode == "2m";
        return {{mode, mode == "4k" ? 4096U : 2U << 20, huge, mode == "thp"}, bytes, std::nullopt};
    }

    fs::path root_;
    memory::SystemFiles files_;
};

TEST_F(FakeSystem, LacksPagesAndSaysWhatWorksInstead) {
    const auto refused = check_needs({need("4k", 16 << 20), need("2m", 16 << 20)}, false, files_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_EQ(refused.error().what, "--pages 2m: 8 huge pages of 2m are needed, 0 are free");
    EXPECT_EQ(refused.error().hint.rfind("--pages 4k,thp works here at once; ", 0), 0U) << refused.error().hint;
    EXPECT_NE(refused.error().hint.find("--reserve-pages"), std::string::npos);
    set("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    EXPECT_EQ(check_needs({need("4k", 1 << 20), need("2m", 16 << 20)}, false, files_)
                  .error()
                  .hint.rfind("--pages 4k works", 0),
              0U);
    pool(8, 8);
    EXPECT_TRUE(check_needs({need("4k", 16 << 20), need("2m", 16 << 20)}, false, files_));
}

TEST_F(FakeSystem, RefusesTransparentPagesThatAreSwitchedOff) {
    EXPECT_TRUE(check_needs({need("thp", 16 << 20)}, false, files_));
    set("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    const auto refused = check_needs({need("4k", 1 << 20), need("thp", 16 << 20)}, false, files_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "--pages thp: transparent huge pages are switched off");
    EXPECT_EQ(refused.error().hint.rfind("--pages 4k works here at once; allow them", 0), 0U) << refused.error().hint;
}

TEST_F(FakeSystem, AddsUpWhatIsMappedAtOnce) {
    pool(10, 10);
    const std::vector<MemoryNeed> two{need("2m", 12 << 20), need("2m", 12 << 20)};
    EXPECT_TRUE(check_needs(two, false, files_));
    EXPECT_FALSE(check_needs(two, true, files_));
    const std::vector<MemoryNeed> large{need("4k", 600 << 20), need("4k", 600 << 20)};
    EXPECT_TRUE(check_needs(large, false, files_));
    EXPECT_FALSE(check_needs(large, true, files_));
}

TEST_F(FakeSystem, RefusesANodeThatDoesNotExist) {
    MemoryNeed far = need("4k", 4096);
    far.numa_node = 7;
    EXPECT_EQ(check_needs({far}, false, files_).error().code, ErrorCode::bad_usage);
}

TEST_F(FakeSystem, ReservesWhatIsMissingForTheKernelAndTheProbe) {
    pool(4, 3);
    machine::Host bare;
    record::Record record;
    {
        auto reserved = reserve_for({need("4k", 16 << 20), need("2m", 16 << 20)}, false, bare, files_);
        ASSERT_TRUE(reserved) << reserved.error().what;
        ASSERT_EQ(reserved->changes().size(), 1U);
        EXPECT_EQ(reserved->changes()[0].from, 4U);
        EXPECT_EQ(reserved->changes()[0].to, 9U);
        give_back(*reserved, record);
    }
    EXPECT_EQ(record.extra.reserved_pages.at(0).to, 9U);
    EXPECT_TRUE(record.warnings.empty());
    machine::Host guest;
    guest.hypervisor = "KVM";
    const auto with_probe = reserve_for({need("2m", 2 << 20)}, false, guest, files_);
    ASSERT_TRUE(with_probe);
    EXPECT_GT(with_probe->changes().at(0).to, 5U);
    EXPECT_EQ(reserve_for({need("4k", 4096)}, false, bare, files_).error().code, ErrorCode::bad_usage);
}

TEST(Needs, OfStreamAreItsWholeBlock) {
    KernelRun point;
    point.kernel = *kernels::find("stream");
    point.parameters.size_bytes = 16 << 20;
    point.parameters.options = {{"op", "copy"}};
    EXPECT_GT(need_of(point).bytes, 16U << 20);  // the arrays do not begin at the same place of a page
    point.parameters.options.clear();
    EXPECT_EQ(need_of(point).bytes, 16U << 20);
    KernelRun atomic;
    atomic.kernel = *kernels::find("atomic");
    EXPECT_EQ(need_of(atomic).bytes, 0U);
}

}  // namespace
}  // namespace tmaprobe::experiments
