#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "model/trace_encoding.h"
#include "model/trace_file.h"
#include "model/window_log.h"
#include "model/window_simulator.h"

namespace tmaprobe::model {

/// Writes what it hears into a file. What goes wrong is told once, by finish(): until then it goes on in silence, since
/// whoever is measured must not suffer.
class TraceWriter final : public WindowLog {
  public:
    /// Errors: system when the file cannot be made.
    static Result<std::unique_ptr<TraceWriter>> create(const std::string& path, const TraceHeader& header);

    void pages(std::function<std::uint64_t(std::uint64_t)> page_bytes) override;
    void moment(std::uint64_t resident_bytes) override;
    void step(const trace::StaticInstruction& instruction, const trace::Step& step) override;
    std::uint32_t window(const trace::Trace& trace,
                         const std::function<bool(std::uint32_t path)>& inside = {}) override;
    /// Nothing is heard after it. `weighted`: moments weigh as what they stand for; else each window as its cycles.
    /// Errors: system when any of it could not be written.
    Result<> finish(const std::vector<TraceMoment>& moments, bool weighted,
                    const std::vector<std::vector<process::MemoryMapping>>& mappings = {});

  private:
    using Bytes = std::array<std::uint8_t, 16>;
    /// An instruction by the number that steps call it at the moment.
    struct Called {
        std::uint64_t address = 0;
        Bytes bytes{};
        std::uint32_t number = 0;
    };

    explicit TraceWriter(std::FILE* file) : file_(file, &std::fclose) {}
    std::uint32_t number_of(const trace::StaticInstruction& instruction, std::uint32_t called);
    void note_page(std::uint64_t address);
    void end_repeats();
    void put_address(std::uint64_t address, std::uint64_t before);
    void flush_if_full();
    void write_block();
    void put_mappings(const std::vector<process::MemoryMapping>& mappings);

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    bool failed_ = false, in_region_ = false;
    std::vector<std::uint8_t> raw_;
    std::function<std::uint64_t(std::uint64_t)> page_bytes_;
    std::map<std::uint64_t, std::uint64_t> pages_;  ///< by extent of 2 MiB: bytes of its pages
    std::uint64_t last_extent_ = ~0ull;
    std::vector<Called> called_;
    std::map<std::pair<std::uint64_t, Bytes>, std::uint32_t> numbers_;
    std::vector<Habit> habits_;
    std::uint32_t before_ = 0, windows_ = 0;
    std::uint64_t last_defined_ = 0, repeats_ = 0, steps_ = 0;
};

/// The writer that the options ask for; null: none is asked for. Errors: as TraceWriter::create().
Result<std::unique_ptr<TraceWriter>> trace_writer(const TraceWish& wish);

/// Ends the trace, if there is one, with what its windows stand for and the mappings of their processes, which lie in
/// the trace as `addresses` has them. Empty: all is well; else what is not.
std::string finish_trace(TraceWriter* writer, const std::vector<WindowFacts>& windows, bool weighted,
                         const OwnAddresses& addresses = {});

}  // namespace tmaprobe::model
