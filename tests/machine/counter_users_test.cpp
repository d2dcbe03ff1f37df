#include "machine/counter_users.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tmaprobe::machine {
namespace {

namespace fs = std::filesystem;

/// A made-up /proc with processes and what their descriptors are.
class CounterUsers : public testing::Test {
  protected:
    CounterUsers() : proc_(fs::path(testing::TempDir()) / fmt_name()) { fs::create_directories(proc_); }
    ~CounterUsers() override { fs::remove_all(proc_); }
    static std::string fmt_name() { return "counter_users_" + std::to_string(::getpid()); }
    void add(const std::string& pid, const std::string& name, const std::string& descriptor) {
        fs::create_directories(proc_ / pid / "fd");
        std::ofstream(proc_ / pid / "comm") << name << "\n";
        fs::create_symlink(descriptor, proc_ / pid / "fd" / "3");
    }
    fs::path proc_;
};

TEST_F(CounterUsers, AreThoseWithPerfEvents) {
    add("12", "bash", "/dev/tty");
    add("4711", "perf", "anon_inode:[perf_event]");
    add("815", "vtune", "anon_inode:[perf_event]");
    EXPECT_EQ(find_counter_users(proc_), "vtune (pid 815), perf (pid 4711)");
}

TEST_F(CounterUsers, AreNotWeNorWhatIsNoProcess) {
    add(std::to_string(::getpid()), "tmaprobe", "anon_inode:[perf_event]");
    add("self", "tmaprobe", "anon_inode:[perf_event]");
    EXPECT_EQ(find_counter_users(proc_), "");
}

TEST_F(CounterUsers, ManyAreCounted) {
    for (int pid = 10; pid < 17; ++pid) add(std::to_string(pid), "perf", "anon_inode:[perf_event]");
    EXPECT_EQ(find_counter_users(proc_), "perf (pid 10), perf (pid 11), perf (pid 12), perf (pid 13) and 3 more");
}

}  // namespace
}  // namespace tmaprobe::machine
