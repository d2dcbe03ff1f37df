#include "symbols/locations.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/json/read.h"
#include "base/json/write.h"
#include "process/helper.h"
#include "symbols/llvm/read_symbols.h"

namespace tmaprobe::symbols {
namespace {

/// What a reader hands over.
template <class Found>
struct Answer {
    std::vector<Found> found;
    std::string error;
};

}  // namespace
}  // namespace tmaprobe::symbols

namespace tmaprobe::json {

template <>
struct Description<symbols::Frame> {
    using F = symbols::Frame;
    static constexpr auto fields =
        std::make_tuple(field("function", &F::function), field("file", &F::file), field("line", &F::line));
};

template <>
struct Description<symbols::Location> {
    using L = symbols::Location;
    static constexpr auto fields = std::make_tuple(field("address", &L::address), field("frames", &L::frames),
                                                   field("begins", &L::begins), field("instruction", &L::instruction));
};

template <>
struct Description<symbols::Variable> {
    using V = symbols::Variable;
    static constexpr auto fields =
        std::make_tuple(field("name", &V::name), field("file", &V::file), field("line", &V::line),
                        field("begin", &V::begin), field("bytes", &V::bytes));
};

template <class Found>
struct Description<symbols::Answer<Found>> {
    using A = symbols::Answer<Found>;
    static constexpr auto fields = std::make_tuple(field("found", &A::found), field("error", &A::error));
};

}  // namespace tmaprobe::json

namespace tmaprobe::symbols {
namespace {

/// What a reader of broken files may use at most.
void limit_memory() {
    constexpr rlim_t most_bytes = rlim_t{16} << 30;
    const rlimit memory{most_bytes, most_bytes}, no_core{0, 0};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take more address space than that
    ::setrlimit(RLIMIT_AS, &memory);
#else
    static_cast<void>(memory);
#endif
    ::setrlimit(RLIMIT_CORE, &no_core);
}

template <class Found, class Read>
Result<std::vector<Found>> in_a_helper(const std::string& what, double patience_seconds, const Read& read) {
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

/// As the kernel mapped it into this process; empty where there is none.
std::string vdso_image() {
    const auto begin = ::getauxval(AT_SYSINFO_EHDR);
    if (!begin) return {};
    const auto* image = reinterpret_cast<const char*>(begin);
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
    constexpr std::uint64_t most = 1 << 20;
    return end > most ? std::string() : std::string(image, end);
}

}  // namespace

Result<std::vector<Location>> locate(const std::string& path, const std::vector<std::uint64_t>& offsets,
                                     double patience_seconds) {
    return in_a_helper<Location>(path, patience_seconds, [&] { return read_symbols(path, offsets); });
}

Result<std::vector<Variable>> variables(const std::string& path, const std::vector<std::uint64_t>& addresses,
                                        double patience_seconds) {
    return in_a_helper<Variable>(path, patience_seconds, [&] { return read_variables(path, addresses); });
}

Result<std::vector<std::uint64_t>> entries(const std::string& path, const std::vector<std::uint64_t>& functions,
                                           const std::vector<ExecutedCode>& executed, double patience_seconds) {
    return in_a_helper<std::uint64_t>(path, patience_seconds, [&] { return read_entries(path, functions, executed); });
}

Result<std::vector<Location>> locate_in_vdso(const std::vector<std::uint64_t>& offsets, double patience_seconds) {
    const std::string image = vdso_image();
    if (image.empty()) return fail(ErrorCode::unavailable, "this machine has no vDSO");
    return in_a_helper<Location>("the vDSO", patience_seconds, [&] { return read_symbols_of_image(image, offsets); });
}

}  // namespace tmaprobe::symbols
