#include "experiments/measure_in_child.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "process/child.h"
#include "record/json/file.h"

namespace tmaprobe::experiments {
namespace {

/// A failure as the child sends it: a first line tells it from a record.
std::string encode(const Error& error) {
    return fmt::format("error\n{}\n{}\n{}", static_cast<int>(error.code), error.what, error.hint);
}

Result<record::Record> decode(const std::string& text, const std::string& how) {
    if (text.starts_with("error\n")) {
        const auto code_end = text.find('\n', 6);
        const auto what_end = text.find('\n', code_end + 1);
        if (what_end != std::string::npos)
            return fail(static_cast<ErrorCode>(text[6] - '0'), text.substr(code_end + 1, what_end - code_end - 1),
                        text.substr(what_end + 1));
    }
    auto records = record::parse_records(text, "what the measuring process said");
    if (!records) return fail(ErrorCode::system, "the measuring process died: " + how);
    return std::move(records->front());
}

}  // namespace

Result<record::Record> measure_in_child(const std::function<Result<record::Record>()>& measure,
                                        const std::function<Result<>(pid_t)>& before_release,
                                        const std::function<bool()>& interrupted,
                                        const std::function<void()>& on_tick) {
    auto child = TRY(process::Child::start([&](int output) {
        const auto record = measure();
        const std::string text = record ? record::serialize(*record) : encode(record.error());
        static_cast<void>(write_descriptor(output, text, "the parent's pipe"));
    }));
    TRY(before_release(child.pid()));
    child.release();

    std::string text;
    char buffer[65536];
    constexpr int look_up_ms = 20;
    for (;;) {
        if (interrupted && interrupted()) return fail(ErrorCode::interrupted, "interrupted");
        pollfd ready{child.output(), POLLIN, 0};
        if (::poll(&ready, 1, look_up_ms) <= 0) {
            if (on_tick) on_tick();
            continue;
        }
        const ssize_t got = ::read(child.output(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
    }
    while (child.alive()) ::usleep(200);
    return decode(text, child.how());
}

}  // namespace tmaprobe::experiments
