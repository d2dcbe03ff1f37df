#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace tmaprobe {

/// What kind of failure it was; decides the exit status (see exit_status).
enum class ErrorCode {
    bad_usage,      ///< the command line asks for something that does not exist or cannot be combined
    bad_input,      ///< a file that was named is unreadable, truncated or not what it should be
    unavailable,    ///< this machine, CPU or build cannot do it
    no_permission,  ///< the kernel or a policy refuses it
    system,         ///< a system call failed for another reason (disk full, out of memory, ...)
    interrupted,    ///< the user stopped it
};

/// A failure as a value: what happened, in one line, and what the user can do about it.
struct Error {
    ErrorCode code = ErrorCode::system;
    std::string what;  ///< one line, no trailing full stop or newline
    std::string hint;  ///< one line: the remedy; empty when there is none
};

/// A value, or the reason why there is none. No function of one room throws into another.
template <class T = void>
using Result = tl::expected<T, Error>;

/// Shorthand for `return fail(ErrorCode::bad_input, "...", "...")`.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
    return tl::unexpected<Error>(Error{code, std::move(what), std::move(hint)});
}

/// Hands an error on, where something has to be done first; else TRY says the same in a word.
template <class T>
tl::unexpected<Error> pass_on(const Result<T>& failed) {
    return tl::unexpected<Error>(failed.error());
}

/// What a Result holds, for TRY.
template <class T>
T take(Result<T>&& result) {
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The value of a Result; where it is an error, the function that this stands in hands the error on:
/// `const auto table = TRY(events::load(library, cpu));`
#define TRY(...)                                                         \
    __extension__({                                                      \
        auto tmaprobe_tried = (__VA_ARGS__);                             \
        if (!tmaprobe_tried) return ::tmaprobe::pass_on(tmaprobe_tried); \
        ::tmaprobe::take(std::move(tmaprobe_tried));                     \
    })

/// As `fail(ErrorCode::system, ...)`, with errno's text appended; no_permission for EACCES and EPERM.
tl::unexpected<Error> fail_errno(int error_number, const std::string& what, std::string hint = {});

/// The process exit status for an error: 2 for bad usage or bad input, else 1.
int exit_status(const Error& error);

}  // namespace tmaprobe
