#pragma once

#include <cstdint>
#include <span>
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
    using Pages = std::unordered_map<std::uint64_t, std::vector<std::uint8_t>>;  ///< by where they begin
    explicit CodeWatch(const TracedProcess& process, Pages kept = {}) : process_(process), pages_(std::move(kept)) {}

    CodeMemory memory_of(std::uint64_t address);
    /// Reads code, of one kind of memory, as far as it is there. Pages of fixed code are kept as they are now, for
    /// changed_pages(), and read once.
    std::size_t read(std::uint64_t address, std::span<std::uint8_t> to, CodeMemory memory);
    /// Begins of the kept pages that are not as they were kept, or not fixed any more, which are kept no longer.
    std::vector<std::uint64_t> changed_pages();
    /// What is kept, for another one.
    Pages take() { return std::exchange(pages_, {}); }
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
    const std::vector<std::uint8_t>& kept(std::uint64_t page);

    const TracedProcess& process_;
    bool mappings_known_ = false;
    std::vector<Mapping> mappings_;  ///< of executable memory, by address
    Pages pages_;
};

/// The range of addresses whose mapping a system call changes, given its number, arguments and result; empty for all
/// that change none.
struct AddressRange {
    std::uint64_t begin = 0, end = 0;
};
std::vector<AddressRange> ranges_remapped(const Registers& before, std::uint64_t result);

}  // namespace tmaprobe::trace
