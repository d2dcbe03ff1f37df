#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/result.h"

namespace tmaprobe::events {

struct Library;

/// What of a program a cache or a translation buffer holds.
enum class Holds : std::uint8_t { unified, data, instruction };

struct CacheGeometry {
    int level = 0;
    Holds kind = Holds::unified;
    std::uint64_t size_bytes = 0;
    unsigned line_bytes = 64;
    unsigned ways = 0;               ///< 0: not known
    unsigned shared_by = 1;          ///< logical CPUs
    unsigned latency = 0;            ///< load to use, cycles; 0: not known
    bool latency_estimated = false;  ///< no published figure: varied with that of DRAM
    bool victim = false;             ///< filled by what the level above evicts, and gives back what is hit
    /// Of so many lines of a set that were used longest ago one makes room, by chance. 0: not known, which is taken as
    /// any of a last level, and as 1 above it.
    unsigned makes_room_among = 0;
    /// Of a level of a virtual machine that others fill, too: a line that was last used `t` ago, and `n` others of ours
    /// since, is held while n (1 + t / this) is less than the lines of the level. 0: nobody else does. Never in the
    /// tables: it is measured.
    double others_fill_ns = 0;
    double line_cycles = 0;        ///< from one line to the next on the way to the level above, at best; 0: not known
    double write_back_cycles = 0;  ///< that a line takes of that way which was written above and comes back
    /// Of that way, which a load of two lines takes besides these where the level above lacks one or has it on its way.
    double split_load_cycles = 0;
    unsigned banks = 1;      ///< neighbouring lines lie in so many
    double bank_cycles = 0;  ///< from one line to the next of one bank; 0: not known
    /// Of its bank, that a line takes which comes from further away: 1, and where that is not all one, to be looked for
    /// in vain and for what it displaces, up to 3.
    unsigned bank_fill_turns = 3;
    unsigned slices = 1;               ///< of a shared level; a line's is known by its address alone
    unsigned slice_spread_cycles = 0;  ///< how much longer the furthest slice's lines take than the nearest's
};

/// One translation buffer that holds the page sizes named.
struct TlbGeometry {
    int level = 0;
    Holds kind = Holds::unified;
    std::vector<std::uint64_t> page_bytes;
    unsigned entries = 0;
    int ways = 0;  ///< 0: not known; -1: fully associative

    bool holds_data() const { return kind != Holds::instruction; }
    bool holds_code() const { return kind != Holds::data; }
};

/// How translations are found that the first level does not have.
struct TranslationGeometry {
    unsigned l2_hit_cycles = 7;
    double l2_hit_every = 0;  ///< cycles between two answers of the second level; 0: any number at once
    unsigned walkers = 1;
    unsigned walk_step_cycles = 6;         ///< per level of the page table, besides the caches' own time
    unsigned nested_walk_step_cycles = 0;  ///< in a virtual machine, whose steps are walks themselves; 0: not known
    unsigned nested_walkers = 0;           ///< that are as good as these there; 0: not known
    unsigned upper_level_entries = 32;     ///< of the caches of page directory entries
    unsigned walk_starts_at_level = 2;     ///< first cache level that the walker asks
    /// Of a virtual machine whose host splits large pages, so that an entry of a TLB holds 4 KiB of one: what a walk in
    /// one takes, of a walk in a small page. 0: an entry holds the page. Never in the tables: it is measured.
    double large_page_walk = 0;
};

struct PrefetcherGeometry {
    bool next_line = true;
    unsigned streams = 16;  ///< 0: no stream prefetcher
    unsigned distance_lines = 12;
    bool cross_pages = false;        ///< a stream goes on into the next page, its translation fetched on the way
    unsigned l1_distance_lines = 0;  ///< of `distance_lines`, that go to the first level; 0: a fourth
    /// A stream stays in its page where the first level meanwhile asks for so many lines, for each of the stream's,
    /// that the second has had for long; where for fewer, now and then, in proportion. 0: it never stays.
    double held_lines_to_stay = 0;
    /// Lines before and after one that missed the first level that come with it, where they were asked for after it
    /// before, and how many cycles later they are asked for. 0 and 0: none.
    unsigned region_lines_before = 0, region_lines_after = 0, region_cycles = 0;
    static constexpr unsigned most_region_lines = 15;
};

struct MemoryGeometry {
    double latency_ns = 100, latency_low_ns = 80, latency_high_ns = 125;
    double bandwidth_bytes_per_second = 20e9;  ///< that one core can draw
    unsigned outstanding_l1_misses = 12, outstanding_l2_misses = 32;
};

/// Any of these sequences of bytes in an instruction's encoding.
using ByteSequences = std::vector<std::vector<std::uint8_t>>;

/// Instructions that LLVM's scheduling model of this CPU is known to get wrong.
struct KnownWrong {
    ByteSequences bytes;
    std::string what;  ///< said where such instructions were executed
};

/// What LLVM's scheduling data has wrong of some instructions, which `bytes` or `instructions` names, or both together.
struct Correction {
    /// Of these instructions all, those with a scaled index in their address, those with one relative to the code, or
    /// those with one that is a sum of base, index and constant.
    enum class When : std::uint8_t { always, scaled_index, relative, sum_of_three };
    ByteSequences bytes;
    std::string instructions;         ///< a regular expression for the whole of LLVM's names of them, unchecked
    std::optional<unsigned> latency;  ///< of the operation, without a load
    bool latency_of_chain = false;    ///< that latency is of one such instruction after another
    /// Cycles that a result is there sooner for an instruction of this correction.
    std::optional<unsigned> sooner_among_alike;
    std::optional<unsigned> micro_ops;  ///< slots at renaming
    /// Cycles of resources, of the operation alone; by the end of LLVM's names, or one of the core's `units`; any of
    /// several with + between them.
    std::optional<std::map<std::string, unsigned>> ports;
    std::optional<std::map<std::string, unsigned>> store_ports;  ///< the same, of its store
    std::optional<unsigned> general_source_cycles;               ///< that the way from a general register takes longer
    std::optional<unsigned> fetch_cycles;                        ///< that the front end takes longer for it
    When when = When::always;                                    ///< whose address is such
    std::optional<bool> reads_destination;  ///< a dependency that the instruction's result does not need
};

/// How branches are foretold ahead of fetching, beyond where they go. All 0: as fast as they are fetched.
struct BranchForetelling {
    double taken_cycles = 0, indirect_cycles = 0, call_cycles = 0, return_cycles = 0;  ///< each such branch
    double line_cycles = 0;            ///< each further line of code up to such a branch
    double taken_backward_cycles = 0;  ///< one that goes back, as a loop does; 0: as any
    /// What the op cache sends in a cycle goes on at the target of a branch that goes forward.
    bool fetches_past_forward = false;
    unsigned first_level_targets = 0;  ///< taken branches whose targets are known at once; 0: all
    /// Of these, in one line of code at most, and in lines that clash with it; 0: any number.
    unsigned first_level_line_targets = 0;
    unsigned second_level_targets = 0;     ///< that are known later; 0: all others
    double second_level_cycles = 0;        ///< how much later
    double second_level_least_cycles = 0;  ///< that such a branch takes, of whatever kind
    bool second_in_line_later = false;     ///< so is one that goes forward in the line of code of the one taken before
    bool calls_by_line =
        false;  ///< calls and returns at the same place of lines a power of 2 apart clash, in both levels
    unsigned unknown_target_cycles = 0;  ///< until the decoder finds the target of a branch that is in neither
    /// A target whose address differs from the branch's in this bit or a higher one takes so many cycles more, but for
    /// returns; 0 cycles: none does.
    unsigned near_target_bits = 0, far_target_cycles = 0;
    unsigned direction_entries = 4096;    ///< of each table of directions, a power of 2
    unsigned direction_half_bit = 0;      ///< of a branch's address, which half of each it has; 0: it may have any
    unsigned direction_counter_bits = 3;  ///< of each of their entries, 2 or 3
    unsigned target_entries = 4096;       ///< of each table of targets of indirect branches, a power of 2
    /// Of directions, a first level knows at once so many contexts that went another way than their branch mostly does,
    /// by so many branches before it, each with a counter of so many bits; what it has wrong is corrected so many
    /// cycles later. 0 contexts: all is known at once.
    unsigned quick_contexts = 0, quick_taken_branches = 0, quick_counter_bits = 1;
    unsigned quick_length = 0;  ///< or by as much as this table of directions looks back upon, counted from 1; 0: none
    double late_direction_cycles = 0;
    double late_target_cycles = 0;  ///< of an indirect branch that goes, as foretold, elsewhere than without a history
    /// First guesses at targets of indirect branches, of each behind one of a few kinds of taken branches, that are
    /// kept; 0 or a power of 2 from 2 on. Late are those whose guess is wrong, then.
    unsigned first_guesses = 0;
    double confirmed_target_cycles = 0;  ///< of one whose first guess is right, but was wrong before
    double late_hidden_by_call = 0;      ///< cycles of these that a call through a pointer takes anyway
    unsigned lines_ahead = 0;  ///< of code that are asked for before they are fetched; 0: none, each miss is waited for
};

/// Loops that are sent round from the micro-op queue, with nothing foretold or fetched.
struct LoopStreaming {
    static constexpr unsigned most_blocks = 32;
    /// That a round may have: pieces of code, each in one window of the op cache and up to a taken branch. 0: no loops.
    unsigned blocks = 0;
    unsigned line_branches = 0;  ///< of these, in one line of code
    /// A loop is known after so many taken branches and so many rounds that went as those before.
    unsigned after_branches = 0, after_rounds = 0;
    unsigned branches_a_cycle = 1;  ///< taken ones that are sent
};

/// One of several schedulers that LLVM has as a single one.
struct PortScheduler {
    std::vector<std::string> ports;  ///< that it issues to, by the ends of LLVM's names
    unsigned entries = 0;
    bool takes_one = false;  ///< operation a cycle at renaming, addresses aside; the next waits, and all behind it
};

/// Stores that do not fill units of the first-level cache, which it keeps a checksum of: old and new are put together.
struct PartStores {
    unsigned unit_bytes = 0;     ///< 0: nothing is known of it
    unsigned failed_cycles = 0;  ///< that a load which could not be forwarded from it waits longer
    unsigned again_cycles = 0;   ///< that another store to the unit waits, and all behind it,
    unsigned again_within = 0;   ///< if it would leave so few cycles later, or less
};

/// Of the ports that it may go to, the one that a micro-op is bound to at renaming, in cores that know how many wait
/// for each as it was some cycles before, and give each slot of a cycle another place among them.
struct PortBinding {
    struct Choice {
        unsigned ports = 0;            ///< that there are to choose from
        std::vector<unsigned> places;  ///< of each slot: of its port among them, the least loaded being 0
    };
    unsigned counts_age_cycles = 0;
    unsigned difference = 0;  ///< a port for which so many more wait than for the least loaded is not taken, but that
    std::vector<Choice> choices;  ///< others go to the least loaded of the moment
};

/// A core beyond what LLVM's scheduling model says of it. All widths per cycle; no width is 0.
struct CoreGeometry {
    std::string llvm_cpu;        ///< LLVM's name of the core that it is scheduled as; empty: the core is not modelled
    std::string borrowed_model;  ///< said where LLVM has no scheduling model of its own for this CPU
    unsigned slot_width = 4;     ///< slots per cycle, as the CPU's top-down formulas count them
    unsigned op_cache_windows = 64;  ///< 0: no op cache
    unsigned op_cache_window_bytes = 64, op_cache_ways = 8, op_cache_width = 8;
    /// An entry is at most so many instructions of a window, from where a branch led to or the last entry ended on; two
    /// of half as many share a way. 0: a window, whatever is in it.
    unsigned op_cache_entry_instructions = 0;
    unsigned op_cache_makes_room_among = 1;  ///< entries, by chance, of a set: those that were used longest ago
    bool op_cache_window_of_end = false;     ///< what lies in two windows belongs to the second
    bool op_cache_one_window = false;        ///< a cycle brings what is in one window, and nothing of the next
    unsigned op_cache_loop_rounds = 0;  ///< but of a loop of a cycle's slots that went round so often; 0: of no loop
    double decoder_switch_cycles = 2;   ///< lost where the op cache misses after a hit
    /// Where no branch was taken in more than so many windows, of which one has more than so many slots, code comes
    /// from the decoders, so many bytes a cycle, until one is; 0 slots: none is too dense.
    unsigned op_cache_window_slots = 0, op_cache_straight_windows = 0, dense_decode_bytes = 16;
    unsigned decode_width = 4, decode_bytes = 16;
    bool decodes_past_taken = false;  ///< a taken branch ends what is fetched in a cycle, not what is decoded
    double missed_line_cycles = 0;    ///< from one line of code that the first level does not have to the next
    unsigned missed_line_bytes = 0;   ///< of code that come a cycle where the first level does not have it; 0: any
    BranchForetelling foretelling;
    LoopStreaming loop_streaming;
    unsigned micro_op_queue = 64;      ///< between fetch and dispatch
    unsigned mispredict_penalty = 15;  ///< cycles from a branch's resolution to the next dispatch
    unsigned indirect_penalty = 0;     ///< beyond that, of an indirect jump or call
    /// What a taken branch adds to the history by which branches are foretold: so many bits of the address of its last
    /// byte, from the first on, and so many of the lowest ones of its target. No bits: not known, the model's own.
    unsigned history_bits = 0, history_first_bit = 0, history_target_bits = 0;
    static constexpr std::size_t most_histories = 8;
    static constexpr unsigned longest_history = 511;
    /// How many taken branches each table of targets of indirect branches looks back upon, and each of directions, the
    /// shortest first; none: not known, the model's own.
    std::vector<unsigned> target_history, direction_history;
    /// Besides, how many conditional branches each of all these tables looks back upon: taken ones, and others by the
    /// branch that is taken next, once for however many; whatever other branches are taken in between. None: no further
    /// than the others.
    std::vector<unsigned> conditional_history;
    /// Besides, of so many taken branches before (at most four) some of the lowest 16 bits of the targets of indirect
    /// calls and jumps, and of one fewer those of the addresses of returns and of other branches; as masks. Where first
    /// guesses are made, only directions look back upon these, and indirect branches straight behind a return.
    unsigned recent_branches = 0, recent_target_bits = 0, recent_return_bits = 0, recent_place_bits = 0;
    unsigned recovery_cycles = 0;    ///< of these, counted as recovery and not as front end
    unsigned microcode_above = 0;    ///< instructions of more micro-ops come from the sequencer; 0: none do
    bool microcode_alone = false;    ///< a sequenced instruction shares no dispatch cycle with others
    unsigned microcode_penalty = 0;  ///< cycles to switch to the sequencer where it can share
    /// x86: until a repeated movs or stos begins to move anything, and again before what is beyond 64 bytes.
    unsigned repeated_string_cycles = 0, longer_string_cycles = 0;
    bool fuses_compare_and_branch = false;
    bool fuses_memory_compare = false;   ///< of memory and a register, too
    bool fuses_by_condition = false;     ///< only with jumps that trace::FusesWith allows; else with any
    bool fuses_memory_operand = false;   ///< LLVM counts load and operation apart; the slots count them once
    unsigned store_forward_cycles = 5;   ///< of a load whose data comes from the store buffer, from the store on
    unsigned vector_forward_cycles = 0;  ///< the same, of a load into a vector register; 0: as into a general one
    unsigned general_to_vector_forward_cycles = 0;  ///< of these, from a store of a general register; 0: as of a vector
    unsigned store_forward_failed_cycles = 14;      ///< of a load that needs more than the store wrote, or parts of two
    unsigned vector_failed_cycles = 0;              ///< with these, into a vector register
    unsigned failed_again_cycles = 0;               ///< of one, beyond a first-level hit's, at least: it goes again
    /// That a store is still found in the store buffer, though it has retired and it is its turn to leave.
    unsigned store_leaves_after_cycles = 0;
    unsigned aliased_load_cycles = 0;  ///< that a load takes longer after a store to another page, at the same place in
                                       ///< it, which is in the store buffer; 0: none, or not known
    bool renames_memory = false;       ///< a plain load of what a plain store wrote to the same place takes no time
    /// Only on so many paths to the load, each of the last so many taken branches, 2 to 64; 0 paths: on any.
    unsigned renaming_paths = 0, renaming_branches = 16;
    bool renames_memory_operands =
        false;  ///< so does a load of another size at that place, and one that an operation needs
    /// So does only what names its address by the same registers, none of them written since: the stack pointer may
    /// have been moved by pushes, pops and constants.
    bool renames_memory_by_registers = false;
    bool renames_only_stack_memory = false;  ///< of these only what is named by the stack pointer, without an index
    /// Pairs of a store and a load, by the load's address in the code, that are known to follow one another at a
    /// distance in stores: what is foretold so is renamed, however the place is named. 0: nothing is.
    unsigned foretold_forwards = 0;
    bool renames_read_modify_write = false;      ///< with these, sums and the like into a place in memory, too
    unsigned length_changing_prefix_cycles = 0;  ///< that the decoders take longer for a constant of two bytes
    unsigned same_address_loads = 0;             ///< that one cycle can serve; 0: any number
    /// A load whose translation or line the first level does not have takes its port again when that comes, and what
    /// it asked for takes one as well.
    bool issues_missed_loads_again = false;
    bool lines_take_load_ports = true;  ///< with these: a line that was asked for does so, not a translation alone
    /// How long what waits for a load is issued as if the first level had its translation, where it has not: it takes
    /// its port in vain, and once more later. 0: what waits knows when it comes.
    unsigned in_vain_cycles = 0;
    unsigned read_modify_write_cycles = 0;  ///< that an operation on memory takes longer than load, operation and store
    unsigned lock_cycles = 0;               ///< of a locked or atomic operation on a line that is owned; 0: as without
    unsigned store_buffer = 56;
    unsigned load_buffer = 0;  ///< 0: as LLVM's model has it, or without limit
    unsigned general_store_cycles =
        0;                            ///< of a store port, for a store of a general register; 0: as LLVM's model has it
    unsigned stores_committed = 1;    ///< stores to one block that leave the store buffer in a cycle
    unsigned store_block_bytes = 64;  ///< of such blocks, aligned; a store to two of them leaves in two cycles
    PartStores part_stores;
    unsigned reorder_buffer = 0;  ///< entries; 0: not known
    unsigned retire_width = 0;    ///< micro-ops a cycle; 0: as LLVM's model has it, or slot_width
    unsigned room_cycles = 0;     ///< from retirement until what was in use is used again: entries, registers
    unsigned general_registers = 0,
             vector_registers = 0;          ///< to rename into; 0: as LLVM's model has it, or without limit
    unsigned scheduler = 0;                 ///< entries of all schedulers together; 0: as LLVM's model has them
    unsigned scheduler_release_cycles = 0;  ///< after an operation was issued, until its entry is another's
    std::vector<PortScheduler> schedulers;  ///< each of its own ports, instead of LLVM's over all of them
    std::vector<std::string> units;         ///< that LLVM's model lacks, for corrections to name: dividers
    unsigned split_line_cycles = 0;         ///< that a load takes longer when it lies in two lines
    bool binds_ports_at_renaming = false;   ///< a micro-op's port is chosen when it is renamed, not when it is issued
    PortBinding port_binding;               ///< where they are: which
    bool eliminates_general_moves = false, eliminates_vector_moves = false;
    bool eliminates_zero_extension = false;  ///< of a low byte to another register
    unsigned adds_constants_below =
        0;  ///< sums of a 64-bit register and constants take no time while they stay below; 0: they do
    bool stack_engine = false;               ///< push, pop, call and return change the stack pointer at renaming
    bool stack_engine_synchronizes = false;  ///< an explicit use of the stack pointer then costs a micro-op
    /// That this micro-op takes; it is needed by operations then and not by addresses. 0: it takes no time, and both
    /// need it.
    unsigned stack_synchronization_cycles = 0;
    bool fuses_no_operations = false;        ///< with the instruction before them
    unsigned vector_load_cycles = 0;         ///< of a first-level hit, load to use; 0: as LLVM's model has it
    bool plain_index_costs_nothing = false;  ///< a load's address of base and unscaled index alone is as fast as a base
    int load_bytes = 0;                      ///< widest load that the core does in one piece; 0: not known
    int memory_vector_bytes = 0;             ///< vectors that move most bytes between core and memory; 0: not known
    std::map<std::string, std::string> llvm_cpu_by_id;  ///< by CPU id, of cores that share a folder
    std::map<std::string, unsigned> slot_width_by_id;
};

/// All that events/<folder>/geometry.json says of a CPU. events/README.md names the keys; their sources stand beside
/// them.
struct CpuGeometry {
    std::optional<CoreGeometry> core;
    std::vector<CacheGeometry> caches;
    std::vector<TlbGeometry> tlbs;
    TranslationGeometry translation;
    PrefetcherGeometry prefetchers;
    MemoryGeometry memory;
    std::vector<KnownWrong> known_wrong;
    std::vector<Correction> corrections;
    std::vector<Correction>
        further_corrections;    ///< as the file has them; empty once it is read: they are in the above
    double frequency_hz = 3e9;  ///< turns nanoseconds into cycles
};

/// What one descriptor byte of CPUID leaf 2 means.
struct CpuidDescriptor {
    std::vector<CacheGeometry> caches;
    std::vector<TlbGeometry> tlbs;
};

/// Reads the text of a geometry.json; `name` stands in messages. Errors: bad_input with the way to what is wrong.
Result<CpuGeometry> parse_cpu_geometry(std::string_view text, std::string_view name);

/// The geometry of a folder, by read_core_data. Errors: unavailable when there is none; bad_input as
/// parse_cpu_geometry.
Result<CpuGeometry> read_cpu_geometry(const Library& library, const std::string& folder);

/// Reads the text of cpuid-descriptors.json: by the byte, as "0x63". Errors: as parse_cpu_geometry.
Result<std::map<std::string, CpuidDescriptor>> parse_cpuid_descriptors(std::string_view text, std::string_view name);

}  // namespace tmaprobe::events

namespace tmaprobe {

template <>
struct Names<events::Holds> {
    static constexpr std::pair<events::Holds, std::string_view> values[] = {
        {events::Holds::unified, "unified"},
        {events::Holds::data, "data"},
        {events::Holds::instruction, "instruction"}};
};

template <>
struct Names<events::Correction::When> {
    using When = events::Correction::When;
    static constexpr std::pair<When, std::string_view> values[] = {{When::always, "always"},
                                                                   {When::scaled_index, "scaled index"},
                                                                   {When::relative, "relative address"},
                                                                   {When::sum_of_three, "base, index and constant"}};
};

}  // namespace tmaprobe
