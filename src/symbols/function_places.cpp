#include "symbols/function_places.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include "base/file.h"

namespace tmaprobe::symbols {
namespace {

/// Something of this type at that place of the file; nothing: it is beyond the end.
template <class T>
const T* at(const std::string& file, std::uint64_t offset, std::uint64_t index, std::uint64_t stride) {
    if (stride < sizeof(T) || offset > file.size() || index > (file.size() - offset) / stride) return nullptr;
    const std::uint64_t begin = offset + index * stride;
    if (begin > file.size() || file.size() - begin < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(file.data() + begin);
}

std::string text_at(const std::string& file, const Elf64_Shdr& strings, std::uint64_t offset) {
    if (offset >= strings.sh_size || strings.sh_offset > file.size() ||
        strings.sh_size > file.size() - strings.sh_offset)
        return {};
    const char* const begin = file.data() + strings.sh_offset + offset;
    return std::string(begin, ::strnlen(begin, strings.sh_size - offset));
}

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 && text ? text.get() : name;
}

/// Place in the file of an address in memory; 0: none.
std::uint64_t offset_of(const std::string& file, const Elf64_Ehdr& header, std::uint64_t address) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto* segment = at<Elf64_Phdr>(file, header.e_phoff, i, header.e_phentsize);
        if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return address - segment->p_vaddr + segment->p_offset;
    }
    return 0;
}

}  // namespace

Result<std::vector<FunctionPlace>> functions_of(const std::string& path) {
    const std::string file = TRY(read_file(path, std::size_t{2} << 30));
    const auto* header = at<Elf64_Ehdr>(file, 0, 0, sizeof(Elf64_Ehdr));
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return fail(ErrorCode::unavailable, path + " is no program of 64 bits",
                    "of what a script starts: --region FILE:SYMBOL");
    std::vector<FunctionPlace> functions;
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const auto* table = at<Elf64_Shdr>(file, header->e_shoff, i, header->e_shentsize);
        if (!table || (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM)) continue;
        const auto* strings = at<Elf64_Shdr>(file, header->e_shoff, table->sh_link, header->e_shentsize);
        if (!strings) continue;
        const std::uint64_t symbols = table->sh_size / sizeof(Elf64_Sym);
        for (std::uint64_t k = 0; k < symbols; ++k) {
            const auto* symbol = at<Elf64_Sym>(file, table->sh_offset, k, sizeof(Elf64_Sym));
            if (!symbol) break;
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !symbol->st_size)
                continue;
            FunctionPlace function;
            function.linker_name = text_at(file, *strings, symbol->st_name);
            // Versions of symbols are no part of a name.
            function.linker_name = function.linker_name.substr(0, function.linker_name.find('@'));
            function.name = demangled(function.linker_name);
            function.offset = offset_of(file, *header, symbol->st_value);
            function.bytes = symbol->st_size;
            if (function.offset && !function.name.empty()) functions.push_back(std::move(function));
        }
    }
    const auto key = [](const FunctionPlace& one) { return std::tie(one.offset, one.linker_name); };
    std::ranges::sort(functions, {}, key);
    const auto again = std::ranges::unique(functions, {}, key);
    functions.erase(again.begin(), again.end());
    return functions;
}

bool loader_chooses(const std::string& path) {
    const auto file = read_file(path, std::size_t{2} << 30);
    const auto* header = file ? at<Elf64_Ehdr>(*file, 0, 0, sizeof(Elf64_Ehdr)) : nullptr;
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const auto* table = at<Elf64_Shdr>(*file, header->e_shoff, i, header->e_shentsize);
        if (!table) break;
        if (table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM)
            for (std::uint64_t k = 0; k < table->sh_size / sizeof(Elf64_Sym); ++k) {
                const auto* symbol = at<Elf64_Sym>(*file, table->sh_offset, k, sizeof(Elf64_Sym));
                if (!symbol) break;
                if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && symbol->st_shndx != SHN_UNDEF) return true;
            }
        // A static program without symbols still has what its start-up code has to fill in.
        if (table->sh_type == SHT_RELA)
            for (std::uint64_t k = 0; k < table->sh_size / sizeof(Elf64_Rela); ++k) {
                const auto* relocation = at<Elf64_Rela>(*file, table->sh_offset, k, sizeof(Elf64_Rela));
                if (!relocation) break;
                const auto type = ELF64_R_TYPE(relocation->r_info);
                if ((header->e_machine == EM_X86_64 && type == R_X86_64_IRELATIVE) ||
                    (header->e_machine == EM_AARCH64 && type == R_AARCH64_IRELATIVE))
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
