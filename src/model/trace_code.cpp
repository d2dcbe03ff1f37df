#include "model/trace_code.h"

#include <map>
#include <tuple>
#include <utility>

#include "model/llvm/decoder.h"
#include "model/trace_file.h"

namespace tmaprobe::model {
namespace {

/// What windows execute, each with what it stands for.
class Listing final : public TraceVisitor {
  public:
    explicit Listing(const TraceFile& trace) : trace_(trace), weights_(trace.windows(), 0) {
        for (const TraceMoment& moment : trace.moments())
            for (const std::uint32_t window : moment.windows)
                weights_[window] = moment.stands_for / static_cast<double>(moment.windows.size());
    }
    void pages(const trace::PageMap&) override {}
    void moment(std::uint64_t) override {}
    void step(const trace::StaticInstruction&, const trace::Step&) override {}
    Result<> window(const trace::Trace& trace) override {
        const std::uint32_t number = windows_++;
        if (number >= weights_.size() || trace.steps.empty()) return {};
        const double each = weights_[number] / static_cast<double>(trace.steps.size());
        all_ += weights_[number];
        std::vector<std::uint32_t> times(trace.instructions.size(), 0);
        for (const trace::Step& step : trace.steps) ++times[step.instruction];
        const auto mappings = trace_.mappings_of_window(number);
        for (std::size_t i = 0; i < times.size(); ++i)
            if (times[i]) note(trace.instructions[i], mappings, each * times[i]);
        return {};
    }
    std::vector<TracedInstruction> take() {
        for (TracedInstruction& one : found_) one.share = all_ > 0 ? one.share / all_ : 0;
        return std::move(found_);
    }

  private:
    void note(const trace::StaticInstruction& instruction, std::uint32_t mappings, double weight) {
        CodeInFile place{{}, instruction.address};
        if (mappings < trace_.mappings().size())
            if (const auto* mapping = process::mapping_at(trace_.mappings()[mappings], instruction.address);
                mapping && !mapping->path.empty())
                place = {mapping->path, instruction.address - mapping->begin + mapping->offset};
        const auto [known, is_new] = numbers_.try_emplace({place.path, place.offset}, found_.size());
        if (is_new) found_.push_back({std::move(place), instruction.address, instruction.bytes, instruction.length, 0});
        found_[known->second].share += weight;
    }

    const TraceFile& trace_;
    std::vector<double> weights_;  ///< of windows
    std::vector<TracedInstruction> found_;
    std::map<std::pair<std::string, std::uint64_t>, std::size_t> numbers_;
    std::uint32_t windows_ = 0;
    double all_ = 0;
};

}  // namespace

Result<std::vector<TracedInstruction>> executed_instructions(const TraceFile& trace) {
    const auto decoder = TRY(core::make_decoder(trace.header().architecture));
    Listing listing(trace);
    TRY(trace.show(*decoder, listing));
    return listing.take();
}

const std::vector<std::uint8_t>& ChosenCode::among(const std::vector<trace::StaticInstruction>& instructions,
                                                   const std::vector<process::MemoryMapping>* mappings,
                                                   std::uint32_t number) {
    if (!placed_ || number != number_) {
        placed_ = true;
        number_ = number;
        flags_.clear();
        addresses_.clear();
        for (const CodeInFile& code : code_) {
            if (code.path.empty()) addresses_.insert(code.offset);
            if (code.path.empty() || !mappings) continue;
            for (const process::MemoryMapping& mapping : *mappings)
                if (mapping.executable && mapping.path == code.path && code.offset >= mapping.offset &&
                    code.offset - mapping.offset < mapping.end - mapping.begin)
                    addresses_.insert(mapping.begin + (code.offset - mapping.offset));
        }
    }
    for (std::size_t i = flags_.size(); i < instructions.size(); ++i)
        flags_.push_back(addresses_.contains(instructions[i].address));
    return flags_;
}

}  // namespace tmaprobe::model
