#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "process/mappings.h"
#include "process/region_page.h"
#include "trace/hardware_watch.h"
#include "trace/open_regions.h"
#include "trace/snapshot.h"
#include "trace/trace.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// Numbers of regions that were open together, each once, outermost first, and at last the innermost again if it is not
/// there. The first has none.
class RegionPaths {
  public:
    RegionPaths() { number_of({}); }
    std::uint32_t number_of(const std::vector<std::uint32_t>& open);
    const std::vector<std::vector<std::uint32_t>>& all() const { return all_; }

  private:
    std::vector<std::vector<std::uint32_t>> all_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
};

/// A function that is a region. Its code, as it lies in a file.
struct RegionFunction {
    std::string file;                     ///< path, as mappings have it
    std::uint64_t offset = 0, bytes = 0;  ///< in the file
    std::uint32_t region = 0;             ///< its number
};

/// Entries that were seen from begin to end.
struct SeenEntries {
    std::uint32_t region = 0;                     ///< its number
    std::uint64_t entries = 0, instructions = 0;  ///< without the marks
};

/// Numbers of functions' regions begin here: those of marks are places in the page's list of names.
inline constexpr std::uint32_t first_function_region = 1000;

/// Knows which regions are open while a process is traced: what was open where it was looked at is read from its
/// memory, and from then on the stores of its marks tell. The marks' own code is told from the program's.
class RegionWatch {
  public:
    /// `page`: null where no marks are listened to. `identity`: of whom the marks have written.
    RegionWatch(RegionPaths& paths, const process::RegionPage* page, const std::vector<RegionFunction>& functions,
                const Identity& identity, std::map<std::uint32_t, SeenEntries>& seen);

    /// The process stands somewhere: at its start, or where it has run to unseen.
    void look(const TracedProcess& process);
    /// Its first mark may have been executed since: then nothing was open where it was looked at.
    void look_for_marks(const TracedProcess& process);
    /// Whether there is anything to be watched.
    bool watches() const { return slot_ || !functions_.empty(); }
    /// Of a copy that marks for itself alone (PageOfCopy): where it has what it writes to.
    void marks_for_itself(std::uint64_t page_address) { own_page_ = page_address; }
    /// What is stored to, or executed, when a region begins; none: it is not known where that is.
    std::optional<HardwareWatch::Point> begin_of(std::uint32_t region) const;
    /// Whether marks are listened to, and none was executed yet where this was asked before.
    bool waits_for_marks() const { return page_ && !slot_; }
    bool lacks_functions() const { return functions_.size() < asked_.size(); }

    /// The next instruction that was executed, in order; says which regions it is in. False: it is none of the
    /// program's own, but a mark's.
    bool is_own(const StaticInstruction& instruction, Step& step);

  private:
    struct Function {
        std::uint64_t begin = 0, end = 0;
        std::uint32_t region = 0;
        bool inside = false, in_callee = false;
        std::uint64_t return_slot = 0;  ///< where the call that it has under way returns from; 0: not known
        std::uint64_t depth = 0;        ///< of calls under way, where no such place is known
    };
    struct Range {
        std::uint64_t begin = 0, end = 0;
    };

    void find_slot(const TracedProcess& copy);
    void find_own_slot(const TracedProcess& copy);
    void use_slot(std::uint64_t address, std::uint64_t thread, std::uint64_t image);
    bool in_marks(std::uint64_t address) const;
    bool is_own_code(const StaticInstruction& instruction, const Step& step);
    void note_store(std::uint64_t address);
    void note_left(const std::optional<OpenRegions::Open>& left);
    void follow_functions(const StaticInstruction& instruction, const Step& step);
    void find_callers(Function& function, const TracedProcess& copy);
    /// `seen`: it begins here.
    void enter(std::uint32_t region, bool seen);
    void note_path() { path_ = paths_.number_of(open_.regions()); }

    RegionPaths& paths_;
    const process::RegionPage* page_;
    const std::vector<RegionFunction>& asked_;
    std::map<std::uint32_t, SeenEntries>& seen_;
    Identity identity_;
    std::uint64_t thread_ = 0;  ///< address of what the thread has open
    std::uint64_t slot_ = 0;    ///< of what it counts
    std::uint64_t own_page_ = 0;
    std::vector<Range> marks_;
    std::vector<Function> functions_;
    OpenRegions open_;
    std::uint32_t path_ = 0;
    std::uint64_t executed_ = 0;  ///< of the program's own instructions
    bool in_mark_ = false, mark_called_ = false, entering_ = false;
    int mark_depth_ = 0;
};

}  // namespace tmaprobe::trace
