#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/allocation_watch.h"
#include "trace/block_writer.h"
#include "trace/code_watch.h"
#include "trace/tracer.h"
#include "trace/translation_area.h"

namespace tmaprobe::trace {

/// Called for each executed instruction, in order. Empty: they are only counted.
using OnStep = std::function<void(const StaticInstruction& instruction, const Step& step)>;

/// Hears of what is executed, block by block, without what neither accesses memory nor branches: many times as quick as
/// hearing of each instruction. Instructions are given by number.
class BlockListener {
  public:
    virtual ~BlockListener() = default;
    /// It goes on at this address.
    virtual void block(std::uint64_t address) = 0;
    /// An access of the block; addresses as Step has them.
    virtual void access(std::uint32_t instruction, std::uint64_t load, std::uint64_t store) = 0;
    /// The branch at its end.
    virtual void branch(std::uint32_t instruction, const StaticInstruction& what) = 0;
};

/// Traces at near native speed: copies the program's code, block by block as it is reached, into an area of its own in
/// the traced process, with code between that notes which block ran and the registers that its addresses are made of.
/// What cannot be copied (system calls, what the processor lacks, ...) is executed in place, one step at a time.
/// Registers, flags, stack and memory of the program are as they would have been; code that it writes or maps anew is
/// copied anew. x86-64 only; elsewhere, and where the process may not map executable memory, steps() falls back to the
/// Tracer.
class Translator {
  public:
    /// What translated code notes: with blocks alone it counts, which is much quicker, and steps() takes no OnStep.
    enum class Notes { blocks, blocks_and_addresses };
    class Translations;
    Translator(TracedProcess& process, Tracer& tracer, Notes notes = Notes::blocks_and_addresses);
    /// That notes blocks and addresses, of another copy of a program whose translations were taken: it goes on with
    /// those whose code is the same, if their place is free. Its instructions are numbered on.
    Translator(TracedProcess& process, Tracer& tracer, Translations known);
    /// What was translated so far, for the next one. This one cannot go on; its process may be gone. Empty where the
    /// blocks count, stop or tell of allocations, or of half a million instructions.
    Translations take();

    /// Executes about `count` instructions of the stopped thread (up to some hundred more), fewer when something ends
    /// the window early, which is told. The thread then stands in its own code. Errors: as Tracer; system when the
    /// traced process could not be read or written.
    Result<Traced> steps(std::size_t count, const OnStep& on_step);

    /// Who hears of what is executed while steps() is given no OnStep; null: nobody. Not with Notes::blocks.
    void tell(BlockListener* listener) { listener_ = listener; }

    /// Numbered by Step::instruction.
    const std::vector<StaticInstruction>& instructions() const { return known_.instructions; }
    bool translates() const { return area_.is_mapped() && !refused_; }
    /// How often each of them was executed so far.
    std::vector<std::uint64_t> executions() const;

    /// What was executed so far in blocks that begin at one address.
    struct BlockCount {
        std::uint64_t start = 0, executions = 0, instructions = 0;  ///< instructions: of one execution
    };
    std::vector<BlockCount> block_counts() const;

    /// steps() ends where the program comes to a block that begins at one of these addresses, which is told by met().
    void await(std::vector<std::uint64_t> addresses) { awaited_ = std::move(addresses), met_ = false; }
    bool met() const { return met_; }

    /// Tells `watch` of the program's calls, returns and entries of its allocator, from here on. Only with
    /// Notes::blocks_and_addresses, and before the first of steps().
    void tell(AllocationWatch& watch) { allocations_ = &watch; }

    /// Whether this is not the program's memory, but the translator's in it.
    bool has_for_itself(std::uint64_t address) const { return area_.contains(address); }

    /// How often the program changed what is mapped where while this one followed it.
    std::size_t remappings() const { return remappings_; }
    /// Another one followed the program meanwhile, and it changed what is mapped where.
    void mappings_changed() { native_runs_ = ~std::size_t{0}; }

    static constexpr std::uint32_t longest_block = 64;  ///< instructions
    static constexpr std::size_t blocks_at_once = 32;
    /// That no translation of blocks_at_once blocks exceeds.
    static constexpr std::size_t room_for_translation = std::size_t{1} << 20;

  private:
    struct Block {
        std::uint64_t start = 0, end = 0, code = 0;
        BlockPlan plan;
        std::uint32_t in_software = 0;  ///< instructions that the processor lacks and a routine does
        std::uint64_t executions = 0;   ///< from its begin to its end
        bool counted = false;           ///< it has a counter
        std::uint16_t counted_at = 0;   ///< before which instruction that goes up
        std::uint64_t counter = 0;      ///< as it was last read
        // Where an AllocationWatch is told:
        AllocatorCall begins = AllocatorCall::none;
        enum class Ends : std::uint8_t { otherwise, call, returns } ends = Ends::otherwise;
    };
    /// What was decoded and translated, and where it stands.
    struct Known {
        std::vector<StaticInstruction> instructions;
        std::vector<std::uint64_t> counted;  ///< executions of each, but for those of blocks as a whole
        std::unordered_map<std::uint64_t, std::uint32_t> number_at;
        std::vector<Block> blocks;
        std::vector<Boundary> boundaries;  ///< by address
        std::unordered_map<std::uint64_t, std::uint32_t> block_at;
        std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> blocks_in_page;
        std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> waiting;  ///< places to become jumps, by target
        std::unordered_map<std::uint64_t, Trap> traps;  ///< by the address at which the thread stops
    };
    /// Why the thread stopped that ran translated code, its registers as they are for the program.
    struct Event {
        enum class Kind { trap, buffer_full, enough_steps, met, code_gone, signal, ended } kind = Kind::trap;
        Trap trap;
        int signal = 0;
        bool sent = false;                 ///< the signal: by some process
        std::optional<Boundary> position;  ///< within a block
        Registers registers;
    };

    /// What a step takes of something, as it was lately. A short stretch says little by itself: it is one because a
    /// repeated instruction before it took nothing for many steps. Of many of them together the sum does.
    class Use {
      public:
        /// It is judged anew after so many steps, or after so much of it.
        Use(std::size_t steps, std::size_t amount) : enough_steps_(steps), enough_amount_(amount) {}
        void note(std::size_t amount, std::size_t steps);
        double per_step() const { return per_step_; }

      private:
        std::size_t enough_steps_, enough_amount_;
        double per_step_ = 0.5;
        std::size_t amount_ = 0, steps_ = 0;  ///< since then
    };

    /// steps() until the count, the thread's end, or an early end.
    Result<Traced> stretch(std::size_t count, const OnStep& on_step);
    /// The loop of stretch(). `address`: where the program is.
    Result<> run(std::uint64_t& address, std::size_t count, const OnStep& on_step, Traced& traced);
    Result<> step_in_place(std::uint64_t& address, const OnStep& on_step, Traced& traced);
    Result<> deliver_signal(std::uint64_t& address, const Event& event, Traced& traced);
    Result<Traced> step_only(std::size_t count, const OnStep& on_step);

    /// The thread's memory is the one that the translations are in, or everything begins anew.
    Result<> prepare();
    /// Puts what was taken from another process into this one, if its place is free.
    void bring_in();
    void drop_changed_pages();
    Result<> flush();
    void drop_remapped(const Registers& before, const Registers& after);
    void drop_page(std::uint64_t page);

    Result<> resume_at(std::uint64_t address, Registers registers);
    /// Brings a thread that may stand anywhere in translated code back to its own.
    Result<> leave_from_anywhere();
    Result<Event> wait_for_event();
    Result<Event> event_of(const Stop& stop);
    /// The next place in translated code where the program's state is known.
    Result<Event> step_to_boundary(int signal, bool sent);
    Result<> recover(const Boundary& boundary, Registers& registers) const;
    std::optional<Boundary> boundary_at(std::uint64_t address) const;

    /// The translation of an address, made if need be, with those that directly follow it.
    Result<std::uint64_t> code_for(std::uint64_t address);
    std::uint64_t known_code(std::uint64_t address) const;
    /// Adds to `successors` the addresses that the block leads to directly, and to `return_sites` where its call
    /// returns.
    Result<> translate(std::uint64_t address, std::vector<std::uint64_t>& successors,
                       std::vector<std::uint64_t>& return_sites);
    /// The instructions from an address on that can stand in one block, by number.
    std::vector<std::uint32_t> read_block(std::uint64_t address, CodeMemory memory, bool& stops_before_next);
    Result<> link(const Trap& trap);
    std::uint32_t number_of(const StaticInstruction& instruction);
    StaticInstruction decode(std::uint64_t address, const std::uint8_t* bytes, std::size_t available);

    /// Gives out what was noted since the buffer was opened; of the last block only what is before `position`.
    Result<> drain(const OnStep& on_step, Traced& traced, const std::optional<Boundary>& position = {});
    std::size_t replay(const Block& block, const std::uint64_t* entries, std::size_t count, const OnStep& on_step);
    void tell_step(const Step& step);
    std::size_t tell_block(const Block& block, const std::uint64_t* entries, std::size_t count);
    std::uint64_t address_of(const RecordedAddress& address, const std::uint64_t* entries) const;
    /// What allocations_ is to know of a block, of which `count` instructions were executed; of one that is executed
    /// in place before it is, and after it.
    void tell_of(const Block& block, const std::uint64_t* entries, std::size_t count);
    void tell_before_step();
    void tell_after_step(const Trace& trace);
    void count_executions(const BlockPlan& plan, std::size_t steps, std::uint64_t times);
    /// Reads the counters of blocks. Of the one that the thread is in only what is before `position` counts.
    Result<> collect(Traced& traced, const std::optional<Boundary>& position = {});
    /// Of the blocks that count, so that about so many steps are executed, or fewer.
    Result<> allow_steps(std::size_t remaining);
    bool is_full() const;
    /// Has the thread stop before the code that is awaited; has it go on there again.
    Result<> plant();
    void take_out();
    Result<> open_buffer(std::size_t remaining);

    TracedProcess& process_;
    Tracer& tracer_;
    Notes notes_;
    BlockListener* listener_ = nullptr;
    bool refused_ = false;
    std::size_t remappings_ = 0;
    std::size_t native_runs_ = 0;                       ///< of the process, when its code was last compared
    std::optional<TranslationArea::Contents> brought_;  ///< from another process, and not here yet
    TranslationArea area_;
    CodeWatch watch_;
    std::uint64_t fs_base_ = 0, gs_base_ = 0;
    Known known_;
    std::vector<std::uint64_t> buffer_;
    Use entries_{1000, 200};             ///< of the buffer
    Use counted_down_{100'000, 10'000};  ///< of what is allowed: steps in blocks that end with a way back
    std::int64_t allowed_ = 0;
    bool has_allowed_ = false;
    std::vector<std::uint64_t> awaited_;
    std::vector<std::pair<std::uint64_t, std::uint8_t>> planted_;  ///< where traps are for it, and what they replace
    bool met_ = false;
    std::vector<std::uint64_t> counters_;  ///< room to read them to
    bool drained_nothing_ = false;
    AllocationWatch* allocations_ = nullptr;
};

/// What was translated of a program, apart from its process.
class Translator::Translations {
    friend Translator;
    TranslationArea::Contents area_;
    CodeWatch::Pages pages_;
    Known known_;
};

}  // namespace tmaprobe::trace
