#include "memory/limits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "base/sizes.h"

namespace tmaprobe::memory {
namespace {

/// /proc and /sys of an invented machine, in a folder that goes with it.
class InventedMachine {
  public:
    explicit InventedMachine(const std::map<std::string, std::string>& content) {
        std::string name = std::filesystem::temp_directory_path() / "tmaprobe-limits-XXXXXX";
        if (::mkdtemp(name.data())) root_ = name;
        for (const auto& [path, text] : content) {
            std::filesystem::create_directories((root_ / path).parent_path());
            std::ofstream(root_ / path) << text;
        }
    }
    ~InventedMachine() { std::filesystem::remove_all(root_); }
    SystemFiles files() const { return {root_ / "proc", root_ / "sys"}; }

  private:
    std::filesystem::path root_;
};

const std::string plenty = "MemTotal: 8388608 kB\nMemFree: 100 kB\nMemAvailable:    4194304 kB\n";

}  // namespace

TEST(AvailableMemory, IsWhatTheMachineHasAvailable) {
    const InventedMachine machine({{"proc/meminfo", plenty}});
    EXPECT_EQ(available_memory(machine.files(), {})->bytes, 4096 * mib);
}

TEST(AvailableMemory, IsWhatAnyEnclosingControlGroupLeaves) {
    const InventedMachine machine({{"proc/meminfo", plenty},
                                   {"proc/self/cgroup", "0::/outer/inner\n"},
                                   {"sys/fs/cgroup/outer/memory.max", "1073741824\n"},
                                   {"sys/fs/cgroup/outer/memory.current", "805306368\n"},
                                   {"sys/fs/cgroup/outer/inner/memory.max", "max\n"},
                                   {"sys/fs/cgroup/outer/inner/memory.current", "4096\n"}});
    const auto available = available_memory(machine.files(), {});
    EXPECT_EQ(available->bytes, 256 * mib);
    EXPECT_NE(available->what.find("/outer"), std::string::npos);
}

TEST(AvailableMemory, ReadsVersionOneOfControlGroupsAndItsWordForNone) {
    const InventedMachine limited({{"proc/meminfo", plenty},
                                   {"proc/self/cgroup", "7:cpuset:/x\n4:memory:/box\n"},
                                   {"sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912\n"},
                                   {"sys/fs/cgroup/memory/box/memory.usage_in_bytes", "0\n"}});
    EXPECT_EQ(available_memory(limited.files(), {})->bytes, 512 * mib);
    const InventedMachine free({{"proc/meminfo", plenty},
                                {"proc/self/cgroup", "4:memory:/box\n"},
                                {"sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n"},
                                {"sys/fs/cgroup/memory/box/memory.usage_in_bytes", "0\n"}});
    EXPECT_EQ(available_memory(free.files(), {})->bytes, 4096 * mib);
}

TEST(AvailableMemory, AGroupOverItsLimitLeavesNothing) {
    const InventedMachine machine({{"proc/meminfo", plenty},
                                   {"proc/self/cgroup", "0::/box\n"},
                                   {"sys/fs/cgroup/box/memory.max", "4096\n"},
                                   {"sys/fs/cgroup/box/memory.current", "8192\n"}});
    EXPECT_EQ(available_memory(machine.files(), {})->bytes, 0U);
    EXPECT_FALSE(check_memory(4096, machine.files(), {}));
}

TEST(AvailableMemory, LooksAtTheNodeThatMemoryIsBoundTo) {
    const InventedMachine machine({{"proc/meminfo", plenty},
                                   {"sys/devices/system/node/node1/meminfo",
                                    "Node 1 MemTotal: 900000 kB\nNode 1 MemFree: 102400 kB\n"
                                    "Node 1 Active(file): 1024 kB\nNode 1 Inactive(file): 1024 kB\n"}});
    EXPECT_EQ(available_memory(machine.files(), 1)->bytes, 102 * mib);
}

TEST(AvailableMemory, TellsNothingWhereNothingIsTold) {
    const InventedMachine machine({});
    EXPECT_FALSE(available_memory(machine.files(), {}));
    EXPECT_TRUE(check_memory(mib, machine.files(), {}));
}

TEST(CheckMemory, RefusesWithWhatThereIsAndASizeThatWouldFit) {
    const InventedMachine machine({{"proc/meminfo", plenty}});
    EXPECT_TRUE(check_memory(4000 * mib, machine.files(), {}));
    const auto refused = check_memory(4097 * mib, machine.files(), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_NE(refused.error().what.find("4096 MiB"), std::string::npos) << refused.error().what;
    EXPECT_NE(refused.error().hint.find("--size"), std::string::npos);
    EXPECT_FALSE(check_memory(~std::uint64_t{0}, machine.files(), {}));
}

TEST(CheckHugePages, CountsFreePagesLessThePromisedAndSaysHowToReserve) {
    const std::string pool = "sys/kernel/mm/hugepages/hugepages-2048kB/";
    const InventedMachine machine(
        {{pool + "nr_hugepages", "10\n"}, {pool + "free_hugepages", "8\n"}, {pool + "resv_hugepages", "3\n"}});
    const PageMode mode{"2m", 2 * mib, true, false};
    EXPECT_TRUE(check_huge_pages(10 * mib, mode, machine.files(), {}));
    const auto refused = check_huge_pages(11 * mib, mode, machine.files(), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_NE(refused.error().what.find("6 huge pages of 2m are needed, 5 are free"), std::string::npos)
        << refused.error().what;
    // Ten are there and five of them taken: eleven make six free.
    EXPECT_NE(refused.error().hint.find("echo 11 | sudo tee"), std::string::npos) << refused.error().hint;
    EXPECT_NE(refused.error().hint.find("hugepages-2048kB/nr_hugepages"), std::string::npos);
}

TEST(CheckHugePages, LetsThePoolGrowAsFarAsItMay) {
    const std::string pool = "sys/kernel/mm/hugepages/hugepages-2048kB/";
    const InventedMachine machine({{pool + "nr_hugepages", "0\n"},
                                   {pool + "free_hugepages", "0\n"},
                                   {pool + "nr_overcommit_hugepages", "4\n"},
                                   {pool + "surplus_hugepages", "1\n"}});
    const PageMode mode{"2m", 2 * mib, true, false};
    EXPECT_TRUE(check_huge_pages(6 * mib, mode, machine.files(), {}));
    EXPECT_FALSE(check_huge_pages(7 * mib, mode, machine.files(), {}));
}

}  // namespace tmaprobe::memory
