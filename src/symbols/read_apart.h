#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/read.h"
#include "base/json/write.h"
#include "base/result.h"
#include "process/helper.h"

// Files are read in a process of its own: what is broken in them costs the answer and nothing else.
namespace tmaprobe::symbols {

/// What a reader hands over.
template <class Found>
struct Answer {
    std::vector<Found> found;
    std::string error;
};

}  // namespace tmaprobe::symbols

namespace tmaprobe::json {

template <class Found>
struct Description<symbols::Answer<Found>> {
    using A = symbols::Answer<Found>;
    static constexpr auto fields = std::make_tuple(field("found", &A::found), field("error", &A::error));
};

}  // namespace tmaprobe::json

namespace tmaprobe::symbols {

/// Limits this process to what a reader of broken files may use at most.
void limit_memory();

/// What `read` returns, a Result of a list, is its value. `what`: is read, for messages. Errors: unavailable when
/// reading fails or takes longer than `patience_seconds`; those of `read`.
template <class Found, class Read>
Result<std::vector<Found>> read_apart(const std::string& what, double patience_seconds, const Read& read) {
    auto helper = TRY(process::Helper::start([&](const process::HelperOrders&, const std::function<void()>& ready) {
        ready();
        limit_memory();
        Answer<Found> answer;
        auto found = read();
        if (found)
            answer.found = std::move(*found);
        else
            answer.error = found.error().what;
        // What is broken may spell its names in bytes that are no text.
        json::Writer writer;
        json::write(writer, answer);
        return writer.take();
    }));
    const std::string text = helper.finish(static_cast<std::int64_t>(patience_seconds * 1e9), [] { return true; });
    const auto failed = [&](const std::string& why) {
        return fail(ErrorCode::unavailable, "the symbols of " + what + " cannot be read: " + why);
    };
    if (text.empty()) return failed("their reader crashed, or took too long");
    const auto document = json::parse(text, "answer");
    if (!document) return failed(document.error().what);
    Answer<Found> answer;
    std::string problem;
    json::read(json::Node(document->root(), problem), answer);
    if (!problem.empty()) return failed(problem);
    if (!answer.error.empty()) return failed(answer.error);
    return std::move(answer.found);
}

}  // namespace tmaprobe::symbols
