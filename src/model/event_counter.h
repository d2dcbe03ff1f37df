#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/branch_names.h"
#include "model/modelled_cpu.h"
#include "model/quick_predictor.h"
#include "trace/translator.h"

namespace tmaprobe::model {

/// What makes one execution of an instruction dearer than another, and can be counted of a long run at little cost.
enum class DearEvent : std::uint8_t {
    mispredicted,  ///< a branch
    from_l2,       ///< its data are not in the first level
    from_beyond,   ///< nor in the second
    new_page,      ///< nor are they in a page that the first translation buffer has
};
inline constexpr std::size_t dear_events = 4;
/// How often each happened.
using EventCounts = std::array<double, dear_events>;
/// A bit for each.
using EventBits = std::uint8_t;
constexpr EventBits bit_of(DearEvent event) { return static_cast<EventBits>(1u << static_cast<unsigned>(event)); }

/// Counts these events in what a program executes, by a predictor and caches that are much simpler than those of the
/// simulation: what they count is no answer, but goes up and down with it.
class EventCounter final : public trace::BlockListener {
  public:
    explicit EventCounter(const ModelledCpu& cpu);

    /// The next instruction that was executed. The program went another way since the one before where `goes_on` is
    /// false.
    void execute(const trace::StaticInstruction& instruction, const trace::Step& step, bool goes_on = true);
    /// The same of whole blocks, whose executions are not counted.
    void block(std::uint64_t address) override { resolve(address); }
    void access(std::uint32_t instruction, std::uint64_t load, std::uint64_t store) override;
    void branch(std::uint32_t instruction, const trace::StaticInstruction& what) override;
    /// What is executed from now on leaves its events here, one after another; null: nowhere. Whether the last one was
    /// mispredicted is known with the next.
    void note_to(std::vector<EventBits>* events);

    /// What was executed since it was taken last, each instruction once.
    struct Counted {
        std::uint32_t instruction = 0;  ///< Step::instruction
        std::uint32_t executions = 0;
        std::array<std::uint32_t, dear_events> events{};
    };
    std::vector<Counted> take();

  private:
    /// Keys of sets, the most recent first.
    class Sets {
      public:
        Sets(std::uint64_t entries, std::uint64_t ways);
        /// Whether it was there. It is from now on.
        bool touch(std::uint64_t key);

      private:
        std::uint64_t sets_;
        std::size_t ways_;
        std::vector<std::uint64_t> keys_;
    };
    /// Lines that follow one another are brought in time.
    class Streams {
      public:
        bool foresees(std::uint64_t line);

      private:
        std::array<std::uint64_t, 16> recent_{};
        std::size_t oldest_ = 0;
    };

    static constexpr std::uint32_t none = ~std::uint32_t{0};
    Counted& counted(std::uint32_t instruction);
    void note(std::uint32_t instruction, DearEvent event);
    /// Where the branch before went.
    void resolve(std::uint64_t next);
    void touch(std::uint32_t instruction, std::uint64_t address);

    QuickPredictor predictor_;
    BranchNames branch_names_;
    std::vector<std::uint64_t> names_;  ///< of each instruction that is a branch; 0: not met
    Sets l1_, l2_, pages_;
    Streams streams_;
    std::vector<Counted> counted_;
    std::vector<std::uint32_t> places_;  ///< in `counted_`, of each instruction; none: not executed since
    std::vector<EventBits>* noted_ = nullptr;
    struct Branch {
        std::uint32_t instruction = 0;
        bool conditional = false;
        std::uint64_t name = 0, next = 0, target = 0;
    };
    Branch branch_;  ///< the last one, where it is not known where it goes
    std::uint64_t last_line_ = ~std::uint64_t{0};
    bool after_branch_ = false, branch_noted_ = false;
};

}  // namespace tmaprobe::model
