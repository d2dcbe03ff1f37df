#include "symbols/locations.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "symbols/llvm/read_symbols.h"
#include "symbols/read_apart.h"

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

}  // namespace tmaprobe::json

namespace tmaprobe::symbols {
namespace {

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
    return read_apart<Location>(path, patience_seconds, [&] { return read_symbols(path, offsets); });
}

Result<std::vector<Variable>> variables(const std::string& path, const std::vector<std::uint64_t>& addresses,
                                        double patience_seconds) {
    return read_apart<Variable>(path, patience_seconds, [&] { return read_variables(path, addresses); });
}

Result<std::vector<std::uint64_t>> entries(const std::string& path, const std::vector<std::uint64_t>& functions,
                                           const std::vector<ExecutedCode>& executed, double patience_seconds) {
    return read_apart<std::uint64_t>(path, patience_seconds, [&] { return read_entries(path, functions, executed); });
}

Result<std::vector<Location>> locate_in_vdso(const std::vector<std::uint64_t>& offsets, double patience_seconds) {
    const std::string image = vdso_image();
    if (image.empty()) return fail(ErrorCode::unavailable, "this machine has no vDSO");
    return read_apart<Location>("the vDSO", patience_seconds, [&] { return read_symbols_of_image(image, offsets); });
}

}  // namespace tmaprobe::symbols
