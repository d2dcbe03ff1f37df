#pragma once

#include <llvm/Object/ELFObjectFile.h>

#include <cstdint>
#include <vector>

namespace tmaprobe::symbols {

/// Loaded bytes of the file: where an offset is, in addresses of the module.
struct Segment {
    std::uint64_t offset = 0, bytes = 0, address = 0;
};

std::vector<Segment> segments_of(const llvm::object::ELFObjectFileBase& object);

}  // namespace tmaprobe::symbols
