#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/mappings.h"
#include "trace/page_map.h"
#include "trace/trace.h"

// Traces as files (docs/what-if.md has the format): what was executed before and in the windows of a model, so that the
// same windows can be simulated on another CPU, elsewhere, without the program.
namespace tmaprobe::model {

/// What a trace is of.
struct TraceHeader {
    std::string architecture;  ///< as machine::Host has it
    std::string cpu_id;        ///< that it was taken on
    std::string workload;      ///< a kernel, or a command line
    std::string version;       ///< of the tmaprobe that wrote it
};

/// What some windows stand for, together.
struct TraceMoment {
    double stands_for = 1;                 ///< ns of a command's run; of a kernel, all alike
    std::vector<std::uint32_t> windows;    ///< by number
    std::uint32_t mappings = no_mappings;  ///< of its process: a number of TraceFile::mappings()

    static constexpr std::uint32_t no_mappings = ~std::uint32_t{0};  ///< not known
};

/// Who is shown a trace. Errors end the showing.
class TraceVisitor {
  public:
    virtual ~TraceVisitor() = default;
    /// Pages of the addresses from now on; all that is not named is in small ones.
    virtual void pages(const trace::PageMap& pages) = 0;
    virtual void moment(std::uint64_t resident_bytes) = 0;
    virtual void step(const trace::StaticInstruction& instruction, const trace::Step& step) = 0;
    virtual Result<> window(const trace::Trace& trace) = 0;
};

/// A trace that was written before.
class TraceFile {
  public:
    /// Reads and checks the whole file, of this version or of the first one. Errors: bad_input for what is no trace, of
    /// another version, or damaged; system.
    static Result<TraceFile> open(const std::string& path);

    /// trace::Step::regions of what is in the region that was asked about when the trace was taken; 0: it is not.
    static constexpr std::uint32_t in_region = 1;

    const TraceHeader& header() const { return header_; }
    const std::vector<TraceMoment>& moments() const { return moments_; }
    std::uint32_t windows() const { return windows_; }
    bool weighted() const { return weighted_; }
    /// Memory of processes, each by address: different ones, and one at different times. None in a trace of the first
    /// version.
    const std::vector<std::vector<process::MemoryMapping>>& mappings() const { return mappings_; }
    /// Those of the process that a window is of: a number of mappings().
    std::uint32_t mappings_of_window(std::uint32_t window) const {
        return window < of_windows_.size() ? of_windows_[window] : TraceMoment::no_mappings;
    }
    std::uint64_t bytes() const { return file_.size(); }
    std::uint64_t steps() const { return steps_; }
    /// From its beginning, as often as wanted and by several threads at once. Errors: bad_input for damage that no
    /// checksum shows; the visitor's.
    Result<> show(trace::Decoder& decoder, TraceVisitor& visitor) const;

  private:
    struct Block {
        std::size_t begin = 0, bytes = 0, raw_bytes = 0;
    };
    Result<std::vector<std::uint8_t>> unpacked(const Block& block) const;
    Result<> read_header(const Block& block);
    Result<> read_end(const Block& block);
    void number_windows();

    std::string name_, file_;
    std::vector<Block> blocks_;  ///< of steps
    TraceHeader header_;
    std::vector<TraceMoment> moments_;
    std::vector<std::vector<process::MemoryMapping>> mappings_;
    std::vector<std::uint32_t> of_windows_;  ///< mappings
    std::uint32_t windows_ = 0, version_ = 0;
    bool weighted_ = false;
    std::uint64_t steps_ = 0;
};

}  // namespace tmaprobe::model
