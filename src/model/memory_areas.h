#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process/mappings.h"
#include "record/where.h"

namespace tmaprobe::model {

/// A piece of memory of a traced program.
struct MemoryArea {
    record::DataKind kind = record::DataKind::unknown;
    std::string path;                      ///< of the file; empty: of none
    bool zeroed = false;                   ///< what of the file's data begins as zeros
    std::uint64_t address = 0, bytes = 0;  ///< the first place of it, and the most that it was long
};

/// Which pieces of memory some mappings are of: the same file, heap or stack, or the same anonymous memory, which may
/// have grown between one look and the next.
class MemoryAreas {
  public:
    /// `mappings`: of processes, each by address; it must outlive this.
    explicit MemoryAreas(const std::vector<std::vector<process::MemoryMapping>>& mappings);

    std::size_t size() const { return areas_.size(); }
    const MemoryArea& operator[](std::size_t number) const { return areas_[number]; }
    /// Of an address where the mappings are those of this number; nothing where none is there.
    std::optional<std::size_t> at(std::size_t mappings, std::uint64_t address) const;
    /// Begins and ends.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places(std::size_t area, std::size_t mappings) const;

  private:
    const std::vector<std::vector<process::MemoryMapping>>& mappings_;
    std::vector<std::vector<std::size_t>> area_of_;  ///< of each mapping
    std::vector<MemoryArea> areas_;
};

}  // namespace tmaprobe::model
