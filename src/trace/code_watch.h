#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// In which ways the memory that code lies in can change while the process runs.
enum class CodeMemory {
    fixed,       ///< a file's, private and not writable: only a system call of the process can change it
    changeable,  ///< anonymous or shared: another mapping, another thread, or a change of permissions may write to it
    writable,    ///< writable and executable at once: the code may change itself
};

/// Notices that code which was read once is not the same any more.
class CodeWatch {
  public:
    explicit CodeWatch(const TracedProcess& process) : process_(process) {}

    CodeMemory memory_of(std::uint64_t address);
    /// Keeps a page of fixed code as it is now, for changed_pages(); once.
    void keep(std::uint64_t address);
    /// Begins of the kept pages that are not as they were kept, which are kept no longer.
    std::vector<std::uint64_t> changed_pages();
    /// A page is kept no longer.
    void drop(std::uint64_t page) { pages_.erase(page); }
    /// The process has, or may have, mapped or unmapped something.
    void mappings_changed() { mappings_known_ = false; }
    void clear();

    static constexpr std::uint64_t page_bytes = 4096;
    static std::uint64_t page_of(std::uint64_t address) { return address & ~(page_bytes - 1); }

  private:
    struct Mapping {
        std::uint64_t begin = 0, end = 0;
        CodeMemory memory = CodeMemory::changeable;
    };
    void read_mappings();

    const TracedProcess& process_;
    bool mappings_known_ = false;
    std::vector<Mapping> mappings_;  ///< of executable memory, by address
    std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> pages_;
};

/// The range of addresses whose mapping a system call changes, given its number, arguments and result; empty for all
/// that change none.
struct AddressRange {
    std::uint64_t begin = 0, end = 0;
};
std::vector<AddressRange> ranges_remapped(const Registers& before, std::uint64_t result);

}  // namespace tmaprobe::trace
