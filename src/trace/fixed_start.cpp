#include "trace/fixed_start.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "process/mappings.h"

namespace tmaprobe::trace {
namespace {

/// Libraries, mappings and the stack lie above, the program and its heap below.
constexpr std::uint64_t libraries_begin = 0x7000'0000'0000;

void from_and_to_nothing() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return;
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
}

#if defined(__x86_64__)

/// What the kernel leaves on the stack for a new program, up to the end of the auxiliary vector, in words.
struct StartBlock {
    std::vector<std::uint64_t> words;
    std::size_t auxiliary = 0;  ///< index of the auxiliary vector's first word
};

Result<StartBlock> read_start_block(const TracedProcess& process, std::uint64_t stack_pointer,
                                    std::uint64_t stack_end) {
    StartBlock block;
    block.words.resize((stack_end - stack_pointer) / sizeof(std::uint64_t));
    const std::size_t bytes = block.words.size() * sizeof(std::uint64_t);
    const auto unreadable = [] {
        return fail(ErrorCode::system, "the stack that a program begins with cannot be read");
    };
    if (block.words.empty() || process.read(stack_pointer, block.words.data(), bytes) != bytes) return unreadable();
    // Number of arguments, arguments, 0, environment, 0, auxiliary vector.
    std::size_t at = block.words[0] + 2;
    while (at < block.words.size() && block.words[at]) ++at;
    block.auxiliary = ++at;
    while (at + 1 < block.words.size() && block.words[at] != AT_NULL) at += 2;
    if (at + 1 >= block.words.size()) return unreadable();
    block.words.resize(at + 2);
    return block;
}

/// The same from one run to the next, and on each machine; no time without a system call.
Result<> settle_auxiliary(const TracedProcess& process, StartBlock& block) {
    constexpr std::size_t random_bytes = 16;
    // Room for a signal's frame: as much as with AVX-512, which is more than with less.
    constexpr std::uint64_t signal_frame = 3632;
    for (std::size_t at = block.auxiliary; at + 1 < block.words.size(); at += 2) {
        std::uint64_t& value = block.words[at + 1];
        if (block.words[at] == AT_SYSINFO_EHDR) block.words[at] = AT_IGNORE;
        // What the processor has is asked of it (ShownCpu).
        if (block.words[at] == AT_HWCAP || block.words[at] == AT_HWCAP2) value = 0;
        if (block.words[at] == AT_MINSIGSTKSZ) value = std::max(value, signal_frame);
        if (block.words[at] != AT_RANDOM) continue;
        std::uint8_t fixed[random_bytes];
        for (std::size_t i = 0; i < random_bytes; ++i) fixed[i] = static_cast<std::uint8_t>(0x11 * i);
        if (!process.write(value, fixed, sizeof fixed))
            return fail(ErrorCode::system, "the random bytes that a program begins with cannot be written");
    }
    return {};
}

Result<> settle_stack(TracedProcess& process, std::uint64_t stack_end) {
    auto registers = TRY(process.registers());
    StartBlock block = TRY(read_start_block(process, registers.stack_pointer(), stack_end));
    TRY(settle_auxiliary(process, block));
    // The strings that the block points to stay where they are, at the stack's end.
    constexpr std::uint64_t steps_down = 64 << 10;
    const std::uint64_t bytes = block.words.size() * sizeof(std::uint64_t);
    const std::uint64_t place =
        stack_end - (stack_end - registers.stack_pointer() + steps_down - 1) / steps_down * steps_down;
    if (!process.write(place, block.words.data(), bytes))
        return fail(ErrorCode::system, "the stack that a program begins with cannot be moved");
    registers.native.rsp = place;
    return process.set_registers(registers);
}

#else

Result<> settle_stack(TracedProcess&, std::uint64_t) { return {}; }

#endif

}  // namespace

void execute_at_fixed_addresses(const std::vector<std::string>& command) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::personality(ADDR_NO_RANDOMIZE);
    // Interpreters whose tables are in another order in each run are asked for one order, unless the user has one.
    for (const char* const seed : {"PYTHONHASHSEED", "PERL_HASH_SEED"}) ::setenv(seed, "0", 0);
    char** last = environ;
    while (last && *last) ++last;
    if (last) std::sort(environ, last, [](const char* one, const char* other) { return std::strcmp(one, other) < 0; });
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    constexpr int not_executed = 127;
    ::_exit(not_executed);
}

Result<FixedStart> start_fixed(const std::vector<std::string>& command) {
    FixedStart start{TRY(TracedProcess::fork_function([&] {
        from_and_to_nothing();
        execute_at_fixed_addresses(command);
    }))};
    const auto executed = TRY(start.process.resume());
    if (executed.why != Stop::Why::event)
        return fail(ErrorCode::unavailable, command.front() + " could not be executed under the tracer",
                    "is it there, and a program?");
    constexpr std::uint64_t most_stack = std::uint64_t{1} << 30;
    std::uint64_t stack_end = 0;
    const std::uint64_t entry = TRY(start.process.registers()).instruction_pointer();
    for (const auto& mapping : process::memory_mappings_of(start.process.pid())) {
        if (mapping.begin < libraries_begin) start.image_end = std::max(start.image_end, mapping.end);
        if (mapping.path == "[stack]") stack_end = mapping.end;
        if (mapping.begin < libraries_begin || entry < mapping.begin || entry >= mapping.end) continue;
        start.loader_begin = mapping.begin;
        start.loader_end = mapping.end;
    }
    if (!stack_end) return fail(ErrorCode::system, "the stack of " + command.front() + " is not found");
    start.stack_begin = stack_end - most_stack;
    TRY(settle_stack(start.process, stack_end));
    return start;
}

}  // namespace tmaprobe::trace
