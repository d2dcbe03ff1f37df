#include "symbols/llvm/segments.h"

namespace tmaprobe::symbols {
namespace {

template <class Elf>
std::vector<Segment> loaded_by(const llvm::object::ELFObjectFile<Elf>& object) {
    std::vector<Segment> segments;
    auto headers = object.getELFFile().program_headers();
    if (!headers) {
        llvm::consumeError(headers.takeError());
        return segments;
    }
    for (const auto& header : *headers)
        if (header.p_type == llvm::ELF::PT_LOAD) segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    return segments;
}

}  // namespace

std::vector<Segment> segments_of(const llvm::object::ELFObjectFileBase& object) {
    if (const auto* of_64 = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(&object)) return loaded_by(*of_64);
    if (const auto* of_32 = llvm::dyn_cast<llvm::object::ELF32LEObjectFile>(&object)) return loaded_by(*of_32);
    return {};
}

}  // namespace tmaprobe::symbols
