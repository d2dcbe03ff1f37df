#include "symbols/function_places.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include "base/fd.h"

namespace tmaprobe::symbols {
namespace {

/// Parts of an ELF file of 64 bits, read where they are asked for: a program may have gigabytes of debug information.
class ElfFile {
  public:
    static Result<ElfFile> open(const std::string& path) {
        ElfFile file;
        file.file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.file_) return fail(ErrorCode::unavailable, "cannot open " + path);
        const bool is_elf = file.read(0, file.header_) && std::memcmp(file.header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                            file.header_.e_ident[EI_CLASS] == ELFCLASS64;
        if (!is_elf)
            return fail(ErrorCode::unavailable, path + " is no program of 64 bits",
                        "of what a script starts: --region FILE:SYMBOL");
        for (unsigned i = 0; i < file.header_.e_shnum; ++i) {
            Elf64_Shdr section{};
            if (file.read(place(file.header_.e_shoff, i, file.header_.e_shentsize), section))
                file.sections_.push_back(section);
            else
                break;
        }
        return file;
    }

    const Elf64_Ehdr& header() const { return header_; }
    const std::vector<Elf64_Shdr>& sections() const { return sections_; }

    /// What a table has, as far as the file goes.
    template <class Entry>
    std::vector<Entry> entries(const Elf64_Shdr& table) const {
        const std::string bytes = content(table);
        std::vector<Entry> all(bytes.size() / sizeof(Entry));
        if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Entry));
        return all;
    }

    /// The strings that a table of symbols refers to.
    std::string strings_of(const Elf64_Shdr& table) const {
        return table.sh_link < sections_.size() ? content(sections_[table.sh_link]) : std::string();
    }

    /// Place in the file of an address in memory; 0: none.
    std::uint64_t offset_of(std::uint64_t address) const {
        for (unsigned i = 0; i < header_.e_phnum; ++i) {
            Elf64_Phdr segment{};
            if (read(place(header_.e_phoff, i, header_.e_phentsize), segment) && segment.p_type == PT_LOAD &&
                address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
                return address - segment.p_vaddr + segment.p_offset;
        }
        return 0;
    }

  private:
    ElfFile() = default;

    static std::uint64_t place(std::uint64_t begin, std::uint64_t index, std::uint64_t stride) {
        return begin + index * stride;
    }

    template <class T>
    bool read(std::uint64_t offset, T& to) const {
        return ::pread(file_.get(), &to, sizeof to, static_cast<off_t>(offset)) == ssize_t{sizeof to};
    }

    std::string content(const Elf64_Shdr& section) const {
        struct stat about{};
        if (::fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
        const auto size = static_cast<std::uint64_t>(about.st_size);
        if (section.sh_offset > size || section.sh_size > size - section.sh_offset) return {};
        std::string bytes(section.sh_size, '\0');
        std::size_t got = 0;
        while (got < bytes.size()) {
            const auto more = ::pread(file_.get(), bytes.data() + got, bytes.size() - got,
                                      static_cast<off_t>(section.sh_offset + got));
            if (more <= 0) break;
            got += static_cast<std::size_t>(more);
        }
        bytes.resize(got);
        return bytes;
    }

    Fd file_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
};

std::string text_at(const std::string& strings, std::uint64_t offset) {
    if (offset >= strings.size()) return {};
    return std::string(strings.data() + offset, ::strnlen(strings.data() + offset, strings.size() - offset));
}

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 && text ? text.get() : name;
}

bool is_table_of_symbols(const Elf64_Shdr& section) {
    return section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
}

/// Those whose names are wanted, each place and name once; without the names that a person reads.
std::vector<FunctionPlace> find_functions(const ElfFile& file, const WantedName& wanted) {
    std::vector<FunctionPlace> functions;
    for (const Elf64_Shdr& table : file.sections()) {
        if (!is_table_of_symbols(table)) continue;
        const std::string strings = file.strings_of(table);
        for (const Elf64_Sym& symbol : file.entries<Elf64_Sym>(table)) {
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || !symbol.st_size) continue;
            FunctionPlace function;
            function.linker_name = text_at(strings, symbol.st_name);
            // Versions of symbols are no part of a name.
            function.linker_name = function.linker_name.substr(0, function.linker_name.find('@'));
            if (function.linker_name.empty() || !wanted(function.linker_name)) continue;
            function.offset = file.offset_of(symbol.st_value);
            function.bytes = symbol.st_size;
            if (function.offset) functions.push_back(std::move(function));
        }
    }
    const auto key = [](const FunctionPlace& one) { return std::tie(one.offset, one.linker_name); };
    std::ranges::sort(functions, {}, key);
    const auto again = std::ranges::unique(functions, {}, key);
    functions.erase(again.begin(), again.end());
    return functions;
}

}  // namespace

Result<std::vector<FunctionPlace>> functions_of(const std::string& path) {
    auto functions = find_functions(TRY(ElfFile::open(path)), [](const std::string&) { return true; });
    for (FunctionPlace& function : functions) function.name = demangled(function.linker_name);
    return functions;
}

std::vector<FunctionPlace> functions_named(const std::string& path, const WantedName& wanted) {
    const auto file = ElfFile::open(path);
    return file ? find_functions(*file, wanted) : std::vector<FunctionPlace>();
}

bool loader_chooses(const std::string& path) {
    const auto file = ElfFile::open(path);
    if (!file) return false;
    const auto machine = file->header().e_machine;
    for (const Elf64_Shdr& table : file->sections()) {
        if (is_table_of_symbols(table))
            for (const Elf64_Sym& symbol : file->entries<Elf64_Sym>(table))
                if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF) return true;
        // A static program without symbols still has what its start-up code has to fill in.
        if (table.sh_type == SHT_RELA)
            for (const Elf64_Rela& relocation : file->entries<Elf64_Rela>(table)) {
                const auto type = ELF64_R_TYPE(relocation.r_info);
                if ((machine == EM_X86_64 && type == R_X86_64_IRELATIVE) ||
                    (machine == EM_AARCH64 && type == R_AARCH64_IRELATIVE))
                    return true;
            }
    }
    return false;
}

std::string without_parameters(const std::string& name) {
    // Parentheses may be in template arguments, too, and "operator()" has some of its own.
    const auto call = name.find("operator()");
    int depth = 0;
    for (std::size_t i = call == std::string::npos ? 0 : call + std::strlen("operator()"); i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth == 0 && name.substr(i, 21) != "(anonymous namespace)") return name.substr(0, i);
    }
    return name;
}

}  // namespace tmaprobe::symbols
