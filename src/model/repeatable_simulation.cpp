#include "model/repeatable_simulation.h"

#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "counters/marked_regions.h"
#include "model/followed_entries.h"
#include "model/region_sums.h"
#include "model/sum_of_windows.h"
#include "model/trace_writer.h"
#include "process/held_command.h"
#include "trace/fixed_start.h"
#include "trace/read_stack.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

/// The run is so many strata of one length, with a window in each.
constexpr std::size_t first_stratum = 200'000;  ///< instructions
constexpr std::size_t longest_warm_up = 1'000'000, least_simulated = 1000, most_strata = 64;

/// The same chance each time.
std::uint64_t chance(std::uint64_t of) { return Random(of).next(); }

/// Of all mappings that it may write: how much it is that is resident of them is the machine's affair.
std::uint64_t writable_bytes(pid_t process) {
    std::istringstream lines(read_file("/proc/" + std::to_string(process) + "/maps").value_or(""));
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
        unsigned long long begin = 0, end = 0;
        char rights[5] = "";
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, rights) == 3 && rights[1] == 'w')
            sum += end - begin;
    }
    return sum;
}

/// Whether the system call at hand makes a thread or a process, which is not followed.
bool starts_another(const trace::Registers& registers) {
#if defined(__x86_64__)
    const auto number = static_cast<long>(registers.native.rax);
    if (number == SYS_fork || number == SYS_vfork) return true;
#elif defined(__aarch64__)
    const auto number = static_cast<long>(registers.native.regs[8]);
#endif
    return number == SYS_clone || number == SYS_clone3;
}

/// Whether it makes another thread, which shares the memory.
bool starts_thread([[maybe_unused]] const trace::TracedProcess& process, const trace::Registers& registers) {
    std::uint64_t flags = 0;
#if defined(__x86_64__)
    const auto number = static_cast<long>(registers.native.rax);
    const std::uint64_t first = registers.native.rdi;
#elif defined(__aarch64__)
    const auto number = static_cast<long>(registers.native.regs[8]);
    const std::uint64_t first = registers.native.regs[0];
#endif
    if (number == SYS_clone) flags = first;
    // The flags come first in what clone3 is given.
    if (number == SYS_clone3) static_cast<void>(process.read(first, &flags, sizeof flags));
    // What stands still until the child has gone on to another program is no thread beside it (posix_spawn).
    return (flags & CLONE_VM) && !(flags & CLONE_VFORK);
}

class RepeatableSimulation {
  public:
    RepeatableSimulation(core::Core& core, trace::Decoder& decoder, const ModelledCpu& cpu, const ModelOptions& options)
        : core_(core), decoder_(decoder), cpu_(cpu), options_(options), simulator_(core, cpu) {}

    Result<Modelled> run(const std::vector<std::string>& command) {
        trace_file_ = TRY(trace_writer(options_.trace));
        if (trace_file_) simulator_.log_to(*trace_file_);
        // Which pages are huge is the machine's affair, too.
        constexpr std::uint64_t small_page = 4096;
        simulator_.set_pages(TRY(assumed_pages(options_)).value_or(trace::PageMap::uniform(small_page)));
        if (options_.attribute) simulator_.attribute_slots();
        regions_ = TRY(FollowedRegions::prepare(options_.regions));
        if (regions_->any()) simulator_.tell_regions();
        if (!options_.attribute_in.empty()) simulator_.attribute_only_in(inside());
        const std::uint64_t start = process::now_ns();
        auto variable = regions_->variable();
        auto process = TRY(trace::TracedProcess::fork_function([&] { trace::execute_at_fixed_addresses(command); }));
        variable.reset();
        process_ = &process;
        const auto executed = TRY(process.resume());
        if (executed.why != trace::Stop::Why::event)
            return fail(ErrorCode::system, command.front() + " could not be executed under the tracer");
        trace::Tracer tracer(process, decoder_, options_.software_always);
        tracer.on_system_call = [this](trace::TracedProcess& traced, const trace::Registers& registers) {
            first_mark_ = regions_->waits_for_marks();
            follows_all_ &= !starts_another(registers);
            has_threads_ |= starts_thread(traced, registers);
            return trace::Tracer::CallAnswer::carry_out;
        };
        trace::Translator translator(process, tracer);
        if (options_.attribute && options_.allocator_functions) watch_allocations(process, translator);
        if (regions_->any()) follow_regions(translator);
        TRY(follow_strata(process, translator));
        if (entries_) TRY(entries_->finish());
        TRY(process.finish());
        modelled_.elapsed_ns = process::now_ns() - start;
        modelled_.exit_status = process.exit_status();
        modelled_.translated = translator.translates();
        modelled_.native_ns = static_cast<double>(modelled_.elapsed_ns);
        sum_strata();
        return std::move(modelled_);
    }

  private:
    void watch_allocations(const trace::TracedProcess& process, trace::Translator& translator) {
        trace::AllocationWatch& watch = allocations_.emplace(process, options_.allocator_functions);
        translator.tell(watch);
        simulator_.tell_allocations(
            [&blocks = watch.blocks()](std::uint64_t address) { return blocks.owner_at(address); });
    }

    /// The blocks that there are of those calls whose blocks the window waits for.
    std::vector<counters::AllocatedBlocks> blocks_met(const WindowFacts& facts) const {
        std::set<std::uint32_t> met;
        const auto note = [&](const counters::AccessSlots::Access& access) { met.insert(access.allocation); };
        facts.accesses.for_each(note);
        for (const FactVariation& varied : facts.variations) varied.accesses.for_each(note);
        met.erase(0);
        std::vector<counters::AllocatedBlocks> blocks;
        for (const std::uint32_t allocation : met) {
            const auto sum = allocations_->blocks().sum_of(allocation);
            blocks.push_back({allocation, sum.blocks, sum.bytes});
        }
        return blocks;
    }

    /// Whether the region that is asked about is open.
    std::function<bool(std::uint32_t)> inside() const {
        return [this, known = std::map<std::uint32_t, bool>()](std::uint32_t path) mutable {
            const auto [found, is_new] = known.try_emplace(path, false);
            if (is_new)
                found->second = std::ranges::any_of(regions_->paths()[path], [this](std::uint32_t region) {
                    return regions_->is_called(region, options_.attribute_in);
                });
            return found->second;
        };
    }

    void follow_regions(const trace::Translator& translator) {
        regions_->started_as(process_->pid());
        regions_->look(*process_);
        entries_.emplace(core_, cpu_, options_,
                         FollowedEntries::Follower{*regions_, translator,
                                                   [this](WindowSimulator& simulator) {
                                                       simulator.set_pages(simulator_.pages());
                                                       if (options_.attribute_in.empty()) return;
                                                       if (trace_file_) simulator.log_to(*trace_file_);
                                                       if (options_.attribute) simulator.attribute_slots();
                                                       simulator.attribute_only_in(inside());
                                                   },
                                                   [this] { return writable_bytes(process_->pid()); }});
    }

    /// Every instruction is looked at where regions are to be told apart; what is not the program's own is left out.
    trace::OnStep told_apart(const trace::OnStep& on_step) {
        if (!entries_) return on_step;
        return [this, on_step](const trace::StaticInstruction& instruction, trace::Step step) {
            // What is told was executed a little before: where its first mark is told, that is over.
            if (first_mark_) regions_->look_for_marks(*process_);
            first_mark_ &= regions_->waits_for_marks();
            if (!regions_->is_own(instruction, step)) return;
            entries_->step(step);
            if (on_step) on_step(instruction, step);
        };
    }

    struct Stratum {
        WindowFacts facts;
        double instructions = 0;  ///< that it stands for
    };

    Result<> follow_strata(trace::TracedProcess& process, trace::Translator& translator) {
        while (!ended_) {
            const std::size_t begin = strata_.size() * length_;
            const std::size_t warm_up = std::min(length_ / 2, longest_warm_up);
            const std::size_t room = length_ - warm_up - options_.window_instructions;
            const std::size_t place = begin + chance(begin ^ length_) % room;
            if (entries_ && regions_->lacks_functions()) regions_->look(process);
            TRY(go_to(translator, place, {}));
            simulator_.begin_moment(writable_bytes(process.pid()));
            modelled_.warmed += TRY(go_to(translator, place + warm_up,
                                          [&](const trace::StaticInstruction& instruction, const trace::Step& step) {
                                              simulator_.follow(instruction, step);
                                          }));
            trace::Trace window;
            if (allocations_) allocations_->blocks().keep_removed();
            auto from = options_.attribute ? trace::read_stack_top(process) : std::nullopt;
            TRY(go_to(translator, executed_ + options_.window_instructions,
                      [&](const trace::StaticInstruction&, const trace::Step& step) { window.steps.push_back(step); }));
            if (options_.keeps_mappings()) mappings_ = process::memory_mappings_of(process.pid());
            if (window.steps.size() >= least_simulated) TRY(add(window, std::move(from), translator));
            if (allocations_) allocations_->blocks().drop_removed();
            TRY(go_to(translator, begin + length_, {}));
            // The end of the run, too short for a window of its own, is the last one's.
            if (!strata_.empty())
                strata_.back().instructions += static_cast<double>(executed_ - std::exchange(last_end_, executed_));
            if (strata_.size() == most_strata) halve();
        }
        return {};
    }

    /// Lets it execute up to a number of instructions, some more at most; how many that were.
    Result<std::size_t> go_to(trace::Translator& translator, std::size_t position, const trace::OnStep& on_step) {
        constexpr std::size_t at_once = 1'000'000;
        const std::size_t before = executed_;
        while (!ended_ && executed_ < position) {
            const auto traced = TRY(translator.steps(std::min(at_once, position - executed_), told_apart(on_step)));
            executed_ += traced.steps;
            modelled_.traced.undecodable += traced.undecodable;
            modelled_.traced.stepped_in_software += traced.stepped_in_software;
            if (traced.ended_early != trace::EndedEarly::none) {
                // From here on it cannot be followed; it goes on by itself.
                ++modelled_.ended_early[traced.ended_early];
                follows_all_ = false;
                ended_ = true;
            }
            ended_ |= traced.ended;
        }
        return executed_ - before;
    }

    Result<> add(trace::Trace& window, std::optional<process::StackTop> from, const trace::Translator& translator) {
        window.instructions = translator.instructions();
        modelled_.traced.steps += window.steps.size();
        auto facts = TRY(simulator_.simulate(window));
        facts.mappings = mappings_;
        facts.stack = std::move(from);
        if (allocations_) facts.blocks = blocks_met(facts);
        strata_.push_back({std::move(facts), 0});
        return {};
    }

    /// Strata become twice as long, and each keeps one of its two windows.
    void halve() {
        std::vector<Stratum> kept;
        for (std::size_t i = 0; i + 1 < strata_.size(); i += 2) {
            Stratum& one = strata_[i + (chance(length_ + i) & 1)];
            one.instructions = strata_[i].instructions + strata_[i + 1].instructions;
            kept.push_back(std::move(one));
        }
        strata_ = std::move(kept);
        length_ *= 2;
    }

    void sum_strata() {
        if (strata_.empty()) {
            modelled_.warnings.push_back(
                {"nothing_traced",
                 fmt::format("nothing is modelled: the command ended after {} instructions, before its first window",
                             executed_),
                 "give it more to do"});
            return;
        }
        std::vector<WindowFacts> windows;
        double whole_cycles = 0;
        for (Stratum& stratum : strata_) {
            const double per_instruction = cycles_of(stratum.facts.base) / stratum.facts.base["instructions"];
            stratum.facts.native_ns = per_instruction * stratum.instructions / cpu_.frequency_hz * 1e9;
            whole_cycles += per_instruction * stratum.instructions;
            windows.push_back(std::move(stratum.facts));
        }
        if (entries_) add_regions(windows, whole_cycles);
        if (options_.attribute_in.empty() || !entries_) {
            add_trace_warning(finish_trace(trace_file_.get(), windows, true), modelled_);
            sum_up(windows, true, cpu_, modelled_);
            if (options_.attribute) modelled_.attribution = attribution_of(windows, true, cpu_, modelled_);
        } else {
            sum_up(windows, true, cpu_, modelled_);
            finish_region(std::move(windows), modelled_);
        }
        if (allocations_)
            for (const auto& call : allocations_->paths())
                modelled_.attribution->allocating_calls.push_back({call.from, call.site});
        if (allocations_ && has_threads_)
            modelled_.warnings.push_back({"where_blocks_of_threads",
                                          "what other threads allocated or freed is not known: their blocks are part "
                                          "of what they lie in, and where "
                                          "they freed one, what lies there now may bear its name",
                                          "--repeatable follows the first thread"});
        add_model_warnings(simulator_.known_wrong(), simulator_.pages().partly_known(), modelled_);
        modelled_.simulating_ns = simulator_.simulating_ns();
        modelled_.simulated_instructions = simulator_.simulated_instructions();
        if (entries_) {
            modelled_.simulating_ns += entries_->simulating_ns();
            modelled_.simulated_instructions += entries_->simulated_instructions();
        }
        if (!options_.core_clock_hz) return;
        if (!follows_all_) return not_judged("not all of what the command did was followed", "");
        const double clock_hz = measured_clock_hz();
        if (clock_hz <= 0)
            return not_judged("each time that the core's clock was measured, others used the core, too",
                              "again, with less work beside it");
        auto& check = modelled_.clock_check.emplace();
        check.windows = windows.size();
        check.instructions = static_cast<double>(executed_);
        check.clock_hz = clock_hz;
        check.modelled_ns = whole_cycles / clock_hz * 1e9;
    }

    /// `windows`: of the whole command, which takes so many cycles.
    void add_regions(const std::vector<WindowFacts>& windows, double whole_cycles) {
        entry_windows_ = entries_->take_windows();
        RegionNames names{{}, regions_->function_names()};
        if (regions_->page()) names.marked = counters::marked_regions(*regions_->page(), process_->pid());
        RegionEvidence evidence{windows, entry_windows_, regions_->paths(), {}, {}};
        for (const auto& [region, seen] : regions_->seen()) evidence.seen.push_back(seen);
        // All of its instructions are counted, and what one of them takes its own windows say.
        evidence.share_otherwise = [&](std::uint32_t region) -> ShareOfTime {
            double cycles = 0, instructions = 0;
            for (const WindowFacts& moment : moments_of(entry_windows_, region, 0, cpu_)) {
                cycles += cycles_of(moment.base);
                instructions += value_of(moment.base, "instructions");
            }
            if (instructions <= 0 || whole_cycles <= 0) return {};
            const auto [all, own] = entries_->instructions_in(region);
            const double per_instruction = cycles / instructions / whole_cycles;
            return {std::min(1.0, all * per_instruction), std::min(1.0, own * per_instruction), 0};
        };
        modelled_.regions = sum_up_regions(names, evidence, cpu_, {});
        modelled_.traced.steps += entries_->steps();
    }

    /// What slots are put down to, and what is kept to be simulated again, of the region that is asked about: with the
    /// windows of its entries.
    void finish_region(std::vector<WindowFacts> windows, Modelled& modelled) {
        if (!entry_windows_.empty())
            append_entries(entry_windows_, seen_in_region(windows, regions_->paths(), entry_windows_.front().region),
                           cpu_, windows);
        for (WindowFacts& window : windows)
            if (window.mappings.empty()) window.mappings = mappings_;
        add_trace_warning(finish_trace(trace_file_.get(), windows, true), modelled);
        Modelled weights;
        sum_up(windows, true, cpu_, weights);
        if (options_.attribute) modelled.attribution = attribution_of(windows, true, cpu_, weights);
    }

    /// A neighbour is seldom there all the time. 0: it was.
    double measured_clock_hz() const {
        constexpr int most_attempts = 20;
        constexpr useconds_t apart_us = 10'000;
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            if (attempt) ::usleep(apart_us);
            if (const double clock_hz = options_.core_clock_hz(); clock_hz > 0) return clock_hz;
        }
        return 0;
    }

    void not_judged(const char* why, const char* hint) {
        modelled_.warnings.push_back(
            {"model_not_judged", fmt::format("the model is not held against the clock: {}", why), hint});
    }

    core::Core& core_;
    trace::Decoder& decoder_;
    const ModelledCpu& cpu_;
    const ModelOptions& options_;
    std::unique_ptr<TraceWriter> trace_file_;
    trace::TracedProcess* process_ = nullptr;
    std::unique_ptr<FollowedRegions> regions_;
    std::optional<FollowedEntries> entries_;
    std::vector<EntryWindow> entry_windows_;
    bool first_mark_ = false;  ///< may have been executed by now
    WindowSimulator simulator_;
    std::vector<Stratum> strata_;
    std::size_t length_ = first_stratum, executed_ = 0, last_end_ = 0;
    bool ended_ = false;
    bool follows_all_ = true;   ///< its time is that of what was followed
    bool has_threads_ = false;  ///< besides the one that is followed
    std::vector<process::MemoryMapping> mappings_;
    std::optional<trace::AllocationWatch> allocations_;
    Modelled modelled_;
};

}  // namespace

Result<Modelled> simulate_repeatably(const std::vector<std::string>& command, core::Core& core, trace::Decoder& decoder,
                                     const ModelledCpu& cpu, const ModelOptions& options) {
    return RepeatableSimulation(core, decoder, cpu, options).run(command);
}

}  // namespace tmaprobe::model
