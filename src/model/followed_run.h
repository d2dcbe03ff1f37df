#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/followed_regions.h"
#include "process/mappings.h"
#include "trace/fixed_start.h"
#include "trace/shown_cpu.h"
#include "trace/translator.h"

namespace tmaprobe::model {

/// A run of a command from its first instruction to its end, which is counted, and here and there followed instruction
/// by instruction. Positions are numbers of executed instructions; all are met a little late, the same each time.
class FollowedRun {
  public:
    /// Errors: those of trace::start_fixed() and FollowedRegions.
    static Result<std::unique_ptr<FollowedRun>> start(const std::vector<std::string>& command, trace::Decoder& decoder,
                                                      const trace::ShownCpu& shown, const RegionWish& regions);

    /// Only counts up to a position.
    Result<> go_to(std::uint64_t position);
    /// The same, or to where it comes to one of the blocks of code that begin at these addresses, which is told.
    Result<bool> go_to_code(std::vector<std::uint64_t> addresses, std::uint64_t position);
    /// How many instructions it executed in all.
    Result<std::uint64_t> go_to_end();
    /// Appends the next so many instructions, or a few more, as numbered by instructions(), each with its regions;
    /// those of marks are left out.
    Result<> follow(std::uint64_t count, std::vector<trace::Step>& steps);
    /// Tells what it executes up to a position, marks and all, or to where it comes to one of these blocks, as
    /// go_to_code() does.
    Result<bool> watch(std::uint64_t position, trace::BlockListener& listener,
                       std::vector<std::uint64_t> addresses = {});
    /// As they are now.
    std::shared_ptr<const std::vector<trace::StaticInstruction>> instructions();

    /// What counts, of a run that is not followed anywhere.
    const trace::Translator& counting() const { return counting_; }
    std::uint64_t executed() const { return executed_; }  ///< instructions
    bool has_ended() const { return ended_; }
    const trace::FixedStart& where() const { return start_; }
    const FollowedRegions& regions() const { return *regions_; }
    /// Of all mappings that it may write: how much of them is resident is the machine's affair.
    std::uint64_t writable_bytes() const;
    /// All that it ever had at the places where this was asked for, and at its end.
    const std::vector<process::CodeMapping>& code_mappings() const { return mappings_; }
    std::uint64_t clock_reads() const { return clock_reads_; }
    bool started_others() const { return started_others_; }
    bool followed_to_end() const { return followed_to_end_; }
    std::optional<int> exit_status() const { return start_.process.exit_status(); }

  private:
    FollowedRun(trace::FixedStart start, trace::Decoder& decoder, std::unique_ptr<FollowedRegions> regions);
    Result<bool> execute_to_code(trace::Translator& translator, std::vector<std::uint64_t> addresses,
                                 std::uint64_t position);
    Result<> execute(trace::Translator& translator, std::uint64_t position, const trace::OnStep& on_step);
    trace::Tracer::CallAnswer on_call(const trace::Registers& registers);
    void note_mappings();

    trace::FixedStart start_;
    std::unique_ptr<FollowedRegions> regions_;
    trace::Tracer tracer_;
    trace::Translator counting_, following_;
    const trace::Translator* last_ = nullptr;  ///< that it was executed by
    std::size_t remappings_seen_ = 0;          ///< of the other one, by `last_`
    std::shared_ptr<const std::vector<trace::StaticInstruction>> instructions_;
    std::vector<process::CodeMapping> mappings_;
    std::uint64_t executed_ = 0, clock_reads_ = 0, time_stamps_ = 0;
    bool ended_ = false, started_others_ = false, followed_to_end_ = true;
};

}  // namespace tmaprobe::model
