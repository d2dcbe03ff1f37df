#include "process/control_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace tmaprobe::process {
namespace {

constexpr const char* how_to_write = "write fifo:COMMANDS or fifo:COMMANDS,ANSWERS, or fd:N or fd:N,M";

/// Opened for both directions, a FIFO never waits for its other end, and never ends.
Result<Fd> open_fifo(const std::string& file) {
    Fd opened(::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!opened) return fail_errno(errno, "cannot open " + file + " of --control", "mkfifo " + file + " makes it");
    struct stat found{};
    if (::fstat(opened.get(), &found) != 0 || !S_ISFIFO(found.st_mode))
        return fail(ErrorCode::bad_usage, file + " of --control is no FIFO", "mkfifo makes one");
    return opened;
}

/// A copy of a descriptor that the user's shell opened; the original stays as it is, for others share it.
Result<Fd> copy_descriptor(const std::string& number) {
    int descriptor = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), descriptor);
    if (error != std::errc{} || end != number.data() + number.size() || descriptor < 0)
        return fail(ErrorCode::bad_usage, "'" + number + "' of --control is no descriptor", how_to_write);
    Fd copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
    if (!copy) return fail_errno(errno, "cannot use descriptor " + number + " of --control");
    return copy;
}

ControlCommand understand(std::string_view line) {
    if (line == "enable") return ControlCommand::enable;
    if (line == "disable") return ControlCommand::disable;
    if (line == "reset") return ControlCommand::reset;
    if (line == "ping") return ControlCommand::ping;
    return ControlCommand::unknown;
}

}  // namespace

Result<ControlChannel> ControlChannel::open(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const std::string rest = colon == text.npos ? "" : text.substr(colon + 1);
    const std::size_t comma = rest.find(',');
    const std::string commands = rest.substr(0, comma);
    if ((kind != "fifo" && kind != "fd") || commands.empty() || rest.ends_with(','))
        return fail(ErrorCode::bad_usage, "--control " + text + " names no way", how_to_write);
    const auto open_one = kind == "fifo" ? open_fifo : copy_descriptor;
    ControlChannel channel;
    channel.commands_ = TRY(open_one(commands));
    if (comma != rest.npos) channel.answers_ = TRY(open_one(rest.substr(comma + 1)));
    return channel;
}

std::vector<ControlCommand> ControlChannel::read() {
    std::vector<ControlCommand> commands;
    const auto take = [&] {
        while (!begun_.empty() && (begun_.back() == ' ' || begun_.back() == '\r')) begun_.pop_back();
        if (!begun_.empty()) commands.push_back(understand(begun_));
        begun_.clear();
    };
    constexpr std::size_t longest = 256;  // of a line; longer ones are no commands
    char text[longest];
    // A descriptor of the user's may wait when it is read: only what is there is asked for, one piece at a time.
    pollfd ready{commands_.get(), POLLIN, 0};
    while (open_ && ::poll(&ready, 1, 0) > 0) {
        const ssize_t got = ::read(commands_.get(), text, sizeof text);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got <= 0) open_ = false;
        for (const char letter : std::string_view(text, got > 0 ? static_cast<std::size_t>(got) : 0)) {
            if (letter == '\n' || letter == '\0')
                take();
            else if (begun_.size() < longest)
                begun_ += letter;
        }
    }
    take();  // "printf enable" has no end of line, and is written in one piece
    return commands;
}

void ControlChannel::acknowledge() {
    if (!answers_) return;
    constexpr std::string_view answer = "ack\n";
    // Who does not read its answers has them lost, rather than us waiting.
    pollfd ready{answers_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, 0) > 0) (void)!::write(answers_.get(), answer.data(), answer.size());
}

}  // namespace tmaprobe::process
