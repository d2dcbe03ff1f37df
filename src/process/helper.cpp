#include "process/helper.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/file.h"
#include "process/held_command.h"

namespace tmaprobe::process {
namespace {

/// Closes everything but these, and what came from the terminal.
void keep_only(std::initializer_list<int> kept) {
    std::vector<int> sorted(kept);
    std::sort(sorted.begin(), sorted.end());
    unsigned next = STDERR_FILENO + 1;
    for (const int one : sorted) {
        if (static_cast<unsigned>(one) > next) ::syscall(SYS_close_range, next, static_cast<unsigned>(one) - 1, 0);
        next = static_cast<unsigned>(one) + 1;
    }
    ::syscall(SYS_close_range, next, ~0U, 0);
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (nothing) ::dup2(nothing.get(), stream);
}

/// A signal that ends us, and none that stops us.
void listen_to_starter(pid_t starter) {
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    ::signal(SIGPIPE, SIG_IGN);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != starter) ::_exit(1);
}

}  // namespace

namespace {

void take_place(pid_t process, int nice) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(process), nice);
    // Where each session is a group of its own to the scheduler, this is the group's share.
    static_cast<void>(write_file("/proc/" + std::to_string(process) + "/autogroup", std::to_string(nice)));
}

}  // namespace

bool step_back(pid_t process) {
    const sched_param in_real_time{1}, otherwise{0};
    if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &in_real_time) != 0) return false;
    ::sched_setscheduler(0, SCHED_OTHER, &otherwise);
    constexpr int further_back = 10;  // about a tenth of what one that competes gets
    take_place(process, further_back);
    return true;
}

void step_forward(pid_t process) {
    if (::getpriority(PRIO_PROCESS, static_cast<id_t>(process)) > 0) take_place(process, 0);
}

namespace {

/// For which this thread could have run and had no CPU; nothing where the kernel keeps no account of it.
std::uint64_t waited_for_a_cpu_ns() {
    unsigned long long ran = 0, waited = 0;
    return std::sscanf(read_line("/proc/self/schedstat").c_str(), "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

}  // namespace

std::uint64_t rest_for(std::uint64_t elapsed_ns, std::uint64_t waited_ns) {
    constexpr std::uint64_t wanted_by_others = 10, parts_of_others = 9, most_ns = 1'000'000'000;
    if (waited_ns <= elapsed_ns / wanted_by_others) return 0;
    return std::min(most_ns, parts_of_others * (elapsed_ns - std::min(elapsed_ns, waited_ns)));
}

std::uint64_t GivesWay::rest_ns() {
    const std::uint64_t begun = begun_ns_, waited = waited_ns_;
    go_on();
    return begun ? rest_for(begun_ns_ - begun, waited_ns_ - waited) : 0;
}

void GivesWay::go_on() {
    begun_ns_ = now_ns();
    waited_ns_ = waited_for_a_cpu_ns();
}

bool HelperOrders::over(std::int64_t patience_ns) const {
    pollfd end{end_.get(), POLLIN, 0};
    const timespec timeout{patience_ns / 1'000'000'000, patience_ns % 1'000'000'000};
    return ::ppoll(&end, 1, &timeout, nullptr) > 0;
}

Result<Helper> Helper::start(
    const std::function<std::string(const HelperOrders&, const std::function<void()>&)>& body) {
    int end[2], answer[2];
    if (::pipe2(end, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd end_read(end[0]), end_write(end[1]);
    if (::pipe2(answer, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd answer_read(answer[0]), answer_write(answer[1]);
    const pid_t starter = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "cannot start a helper process");
    if (pid == 0) {
        ::setsid();
        const int answer_to = answer_write.release();
        keep_only({end_read.get(), answer_to});
        static_cast<void>(end_write.release());  // closed already
        static_cast<void>(answer_read.release());
        listen_to_starter(starter);
        const HelperOrders orders(std::move(end_read));
        const std::string text = body(orders, [&] { static_cast<void>(!::write(answer_to, "\n", 1)); });
        static_cast<void>(write_descriptor(answer_to, text, "the starter's pipe"));
        ::_exit(0);
    }
    Helper helper;
    helper.pid_ = pid;
    helper.end_ = std::move(end_write);
    helper.answer_ = std::move(answer_read);
    answer_write.close();
    char ready = 0;
    while (::read(helper.answer_.get(), &ready, 1) < 0 && errno == EINTR) {
    }
    return helper;
}

Helper::Helper(Helper&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), end_(std::move(other.end_)), answer_(std::move(other.answer_)) {}

Helper::~Helper() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::string Helper::finish(std::int64_t patience_ns, const std::function<bool()>& go_on) {
    end_.close();
    std::string text;
    const std::uint64_t start = now_ns();
    char buffer[65536];
    constexpr int look_up_ms = 20;
    while (now_ns() - start < static_cast<std::uint64_t>(patience_ns) && go_on()) {
        pollfd readable{answer_.get(), POLLIN, 0};
        if (::poll(&readable, 1, look_up_ms) <= 0) continue;
        const ssize_t got = ::read(answer_.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
    }
    return {};
}

}  // namespace tmaprobe::process
