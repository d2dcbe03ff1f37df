#include "process/control_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

namespace tmaprobe::process {
namespace {

using enum ControlCommand;
using Commands = std::vector<ControlCommand>;

class Control : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        ASSERT_EQ(::mkfifo(fifo("commands").c_str(), 0600), 0);
        ASSERT_EQ(::mkfifo(fifo("answers").c_str(), 0600), 0);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string fifo(const char* name) const { return folder_ / name; }
    ControlChannel open() const {
        auto channel = ControlChannel::open("fifo:" + fifo("commands") + "," + fifo("answers"));
        EXPECT_TRUE(channel) << channel.error().what;
        return std::move(*channel);
    }
    void send(std::string_view text) const {
        const Fd to(::open(fifo("commands").c_str(), O_WRONLY | O_NONBLOCK));
        ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

  private:
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tmaprobe_control_" + std::to_string(::getpid()));
};

TEST_F(Control, ReadsLinesAndWhatHasNoEndOfLine) {
    auto channel = open();
    EXPECT_EQ(channel.read(), Commands{});
    send("enable\ndisable\n");
    EXPECT_EQ(channel.read(), (Commands{enable, disable}));
    send("reset");
    EXPECT_EQ(channel.read(), Commands{reset});
    send("ping\n\n  \nenable \n");
    EXPECT_EQ(channel.read(), (Commands{ping, enable}));
    send("Enable\n" + std::string(3000, 'x') + "\n");
    EXPECT_EQ(channel.read(), (Commands{unknown, unknown}));
    EXPECT_TRUE(channel.is_open()) << "a FIFO whose writer has gone may get another";
}

TEST_F(Control, AnswersAndNeverWaitsForWhoDoesNotRead) {
    auto channel = open();
    channel.acknowledge();
    const Fd from(::open(fifo("answers").c_str(), O_RDONLY | O_NONBLOCK));
    char text[8] = {};
    ASSERT_EQ(::read(from.get(), text, sizeof text), 4);
    EXPECT_STREQ(text, "ack\n");
    for (int times = 0; times < 50'000; ++times) channel.acknowledge();  // more than a pipe holds
}

TEST_F(Control, TakesDescriptorsAndSeesTheirEnd) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    auto channel = ControlChannel::open("fd:" + std::to_string(pipe[0]));
    ASSERT_TRUE(channel) << channel.error().what;
    ASSERT_EQ(::write(pipe[1], "enable\n", 7), 7);
    ::close(pipe[1]);
    EXPECT_EQ(channel->read(), Commands{enable});
    EXPECT_EQ(channel->read(), Commands{});
    EXPECT_FALSE(channel->is_open());
    EXPECT_EQ(::fcntl(pipe[0], F_GETFD), 0) << "the caller's own stays open";
    ::close(pipe[0]);
}

TEST_F(Control, RefusesWhatIsNoWay) {
    for (const char* text : {"", "fifo:", "fifo", "file:x", "fd:x", "fd:99999", "fifo:/dev/null", "fifo:/nonexistent/x",
                             "fd:0,", "fifo:a,"}) {
        const auto channel = ControlChannel::open(text);
        EXPECT_FALSE(channel) << text;
        if (!channel) EXPECT_FALSE(channel.error().what.empty());
    }
}

}  // namespace
}  // namespace tmaprobe::process
