#include "trace/page_of_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "process/mappings.h"

#define TMAPROBE_REGION_LAYOUT_ONLY
#include <tmaprobe/region.h>

namespace tmaprobe::trace {

using Answer = CopyCalls::Answer;

#if !defined(__x86_64__)

std::optional<Answer> PageOfCopy::operator()(TracedProcess&, Registers&) { return std::nullopt; }

#else

bool PageOfCopy::is_page(const TracedProcess& copy, std::uint64_t descriptor) const {
    std::error_code none;
    return std::filesystem::read_symlink(
               "/proc/" + std::to_string(copy.pid()) + "/fd/" + std::to_string(static_cast<int>(descriptor)), none) ==
           page_.path();
}

/// The first slot is nobody's: the copy, which believes to be the original, takes it as the original took its own.
bool PageOfCopy::begin_anew(TracedProcess& copy) {
    const auto mappings = process::memory_mappings_of(copy.pid());
    const auto found = std::ranges::find_if(
        mappings, [&](const process::MemoryMapping& one) { return one.path == page_.path() && !one.shared; });
    if (found == mappings.end()) return false;
    const std::vector<std::byte> nothing(sizeof(tmaprobe_region_slot_v1));
    if (!copy.write(found->begin + offsetof(tmaprobe_region_page_v1, slots), nothing.data(), nothing.size()))
        return false;
    mapped_ = true;
    if (on_mapped) on_mapped(found->begin);
    return true;
}

std::optional<Answer> PageOfCopy::operator()(TracedProcess& copy, Registers& registers) {
    auto& native = registers.native;
    const auto carry_out_changed = [&] { return copy.set_registers(registers) ? Answer::carry_out : Answer::end; };
    switch (native.rax) {
        case SYS_openat: {
            std::string path(page_.path().size() + 1, '\1');
            if (copy.read(native.rsi, path.data(), path.size()) != path.size() || path.back() != '\0') break;
            path.pop_back();
            if (path != page_.path()) break;
            native.rdx = O_RDONLY | O_CLOEXEC;
            return carry_out_changed();
        }
        case SYS_lseek:
            if (is_page(copy, native.rdi)) return Answer::carry_out;
            break;
        case SYS_mmap:
            if ((native.r10 & MAP_ANONYMOUS) || !is_page(copy, native.r8)) break;
            native.r10 = MAP_PRIVATE;
            return carry_out_changed();
        case SYS_close:
            if (!is_page(copy, native.rdi)) break;
            return begin_anew(copy) ? Answer::carry_out : Answer::end;
        case SYS_madvise:
            // What a process knows itself by, emptied in the children that a copy never has.
            if (mapped_ && native.rdx == MADV_WIPEONFORK) return Answer::carry_out;
            break;
        default:
            break;
    }
    return std::nullopt;
}

#endif

}  // namespace tmaprobe::trace
