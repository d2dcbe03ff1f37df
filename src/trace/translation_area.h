#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/block_writer.h"
#include "trace/target_table.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// The translator's memory in the traced process: slots, the table of code addresses, counters, the buffer of what was
/// executed with a page behind it that nobody may touch, the code.
class TranslationArea {
  public:
    /// What it is made of, wherever it is.
    struct Contents {
        std::uint64_t base = 0;
        std::vector<std::uint8_t> code;
        TargetTable table;
    };
    explicit TranslationArea(const TracedProcess& process) : process_(process) {}

    /// Maps it, by a system call that the stopped thread makes. Errors: no_permission when the process may not have
    /// executable memory that is writable; system.
    Result<> map(TracedProcess& process);
    /// Maps it where another process had one of these contents, and as that was, with its counters at 0. Errors: as
    /// map(); unavailable when something is there.
    Result<> map_as(TracedProcess& process, Contents contents);
    /// Its contents, for map_as(). It is mapped no more.
    Contents take() { return {std::exchange(base_, 0), std::move(code_), std::move(table_)}; }
    bool is_mapped() const { return base_ != 0; }
    /// The process has it no more.
    void lost() { base_ = 0; }
    /// Whether the process still has what start() wrote: it may have executed another program.
    bool is_there() const;
    /// Empties it; so many counters have been used.
    Result<> start(std::size_t counters = 0);

    bool contains(std::uint64_t address) const { return base_ && address >= base_ && address < base_ + area_bytes; }
    const TranslationLayout& layout() const { return layout_; }
    std::uint64_t next_code() const { return base_ + code_offset + code_.size(); }
    std::size_t room_for_code() const { return code_bytes - code_.size(); }
    /// Puts code where next_code() is; there, and where patches are, when write_code() was called.
    void append(const std::vector<std::uint8_t>& code);
    /// Makes what stands at an address a jump.
    void patch_jump(std::uint64_t at, std::uint64_t to);
    /// Makes it a trap, and says what it stands in place of. The thread stops one byte further.
    std::uint8_t patch_trap(std::uint64_t at);
    void put_back(std::uint64_t at, std::uint8_t byte);
    Result<> write_code();
    /// From now on a branch to an address in a register finds its code.
    Result<> enter_in_table(std::uint64_t address, std::uint64_t code);

    /// Empties the buffer, with room for so many entries, or as many as it can have.
    Result<> open_buffer(std::size_t entries);
    /// How many steps may be executed before the thread stops, by blocks that count.
    Result<> allow_steps(std::int64_t steps) const;
    Result<std::int64_t> allowed_steps() const;
    /// How often each block that counts was executed since start(), by number.
    Result<> read_counters(std::size_t blocks, std::vector<std::uint64_t>& counters) const;
    /// What was written since open_buffer().
    Result<> read_buffer(std::vector<std::uint64_t>& entries) const;
    /// The program's own values of the general registers, as far as they are displaced.
    Result<> read_saved(std::uint64_t (&registers)[16]) const;
    Result<std::uint64_t> read_jump_target() const;

    static constexpr std::size_t buffer_entries = std::size_t{1} << 16;
    static constexpr std::size_t most_blocks = std::size_t{1} << 18;  ///< that have a counter
    /// A compiler's most used code: what does not stay is translated again and again (GCC's cc1 with half of this: 8
    /// times as long). Pages are taken as they are written.
    static constexpr std::size_t code_bytes = std::size_t{32} << 20;

  private:
    static constexpr std::size_t guard_bytes = 8192;
    static constexpr std::size_t table_offset = CodeEmitter::slots_end;
    static constexpr std::size_t counters_offset = table_offset + CodeEmitter::table_bytes;
    static constexpr std::size_t buffer_offset = counters_offset + most_blocks * 8;
    static constexpr std::size_t guard_offset = buffer_offset + buffer_entries * 8;
    static constexpr std::size_t code_offset = guard_offset + guard_bytes;
    static constexpr std::size_t area_bytes = code_offset + code_bytes;

    /// At an address, or anywhere. Errors: as map().
    Result<> map_at(TracedProcess& process, std::uint64_t address);
    Result<> write(std::uint64_t address, const void* from, std::size_t bytes) const;
    void patch(std::uint64_t at, std::span<const std::uint8_t> bytes);
    Result<> read(std::uint64_t address, void* to, std::size_t bytes) const;
    CodeEmitter second_look() const;
    void set_layout();

    const TracedProcess& process_;
    std::uint64_t base_ = 0, number_ = 0, buffer_begin_ = 0;
    std::vector<std::uint8_t> code_;
    std::size_t written_ = 0;  ///< bytes of it, but for patches
    struct Patch {
        std::size_t at = 0, bytes = 0;
    };
    std::vector<Patch> patches_;  ///< of what was written
    TranslationLayout layout_;
    TargetTable table_;
};

}  // namespace tmaprobe::trace
