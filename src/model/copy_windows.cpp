#include "model/copy_windows.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "model/spinning.h"
#include "model/sum_of_windows.h"
#include "process/held_command.h"
#include "trace/native_run.h"
#include "trace/read_stack.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t windows_apart = 100'000;
/// Of a moment: of one in time, what lies close together tells less than another moment.
constexpr std::size_t windows_of_the_only_one = 3, windows_of_many = 1;
constexpr std::size_t varied_apart = 3;  ///< moments: what is not known changes them much in the same way
constexpr std::uint64_t most_growth_bytes = 256u << 20;  ///< a copy takes no more memory than that from others
constexpr std::size_t most_translated = 3;  ///< processes whose translations are kept for their next copies
constexpr double search_ns = 45e6;          ///< of processor time, for a window like the moment that was sampled

std::uint64_t resident_bytes_of(pid_t process) {
    unsigned long long pages = 0;
    std::sscanf(read_line("/proc/" + std::to_string(process) + "/statm").c_str(), "%*u %llu", &pages);
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

/// What a copy is followed with.
struct CopyWindows::Copy {
    Copy(trace::Sample& sample, trace::Decoder& decoder, bool software_always, trace::RegionWatch watch,
         const process::RegionPage* listened_to, trace::Translator::Translations translations)
        : of(sample.snapshot.process),
          resident_bytes(sample.snapshot.resident_bytes),
          calls(sample.snapshot),
          process(trace::TracedProcess::of_copy(sample.snapshot.release())),
          tracer(process, decoder, software_always),
          translator(process, tracer, std::move(translations)),
          regions(std::move(watch)) {
        if (listened_to) {
            page.emplace(*listened_to);
            page->on_mapped = [this](std::uint64_t address) { regions.marks_for_itself(address); };
        }
        tracer.on_system_call = [this](trace::TracedProcess& copy, trace::Registers& registers) {
            auto answer = page ? (*page)(copy, registers) : std::nullopt;
            if (!answer) answer = calls(copy, registers);
            switch (*answer) {
                case trace::CopyCalls::Answer::carry_out:
                    return trace::Tracer::CallAnswer::carry_out;
                case trace::CopyCalls::Answer::answered:
                    return trace::Tracer::CallAnswer::answered;
                case trace::CopyCalls::Answer::end:
                    break;
            }
            return trace::Tracer::CallAnswer::end;
        };
        if (const auto begin = sample.snapshot.time_stamp) tracer.time_stamp = [this, begin] { return *begin + ticks; };
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    /// One more was executed. Whether it is the program's own.
    bool executed(const trace::StaticInstruction& instruction, trace::Step& step) {
        ++ticks;
        return !regions.watches() || regions.is_own(instruction, step);
    }

    pid_t of;
    std::uint64_t resident_bytes;
    trace::CopyCalls calls;
    trace::TracedProcess process;
    trace::Tracer tracer;
    trace::Translator translator;
    trace::RegionWatch regions;
    std::optional<trace::PageOfCopy> page;
    std::uint64_t ticks = 0;  ///< of its time: one for each instruction, and as many as there are while it runs
    bool ended = false;
};

CopyWindows::CopyWindows(core::Core& core, const ModelledCpu& cpu, trace::Decoder& decoder, const ModelOptions& options,
                         const WatchedRegions& regions, SampledWindows& found, std::function<void()> in_between)
    : decoder_(decoder),
      options_(options),
      regions_(regions),
      found_(found),
      in_between_(std::move(in_between)),
      simulator_(core, cpu),
      entries_(simulator_, cpu, options, region_paths_),
      cycle_ns_(1e9 / cpu.frequency_hz) {
    if (auto pages = assumed_pages(options_); pages && *pages) {
        simulator_.set_pages(**pages);
        pages_assumed_ = true;
    }
    simulator_.tell_times();
    if (options_.attribute) simulator_.attribute_slots();
    if (regions_.any()) simulator_.tell_regions();
    if (!options_.attribute_in.empty())
        simulator_.attribute_only_in([this](std::uint32_t path) {
            const auto [known, is_new] = attributed_paths_.try_emplace(path, false);
            if (is_new) known->second = is_attributed(path);
            return known->second;
        });
}

/// Whether the region that is asked for is open. A region has its name before it is first begun.
bool CopyWindows::is_attributed(std::uint32_t path) const {
    const auto marked = regions_.page ? regions_.page->names() : std::vector<std::string>();
    return std::ranges::any_of(region_paths_.all()[path],
                               [&](std::uint32_t region) { return is_called(region, options_.attribute_in, marked); });
}

bool CopyWindows::is_called(std::uint32_t region, const std::string& name,
                            const std::vector<std::string>& marked) const {
    if (region < trace::first_function_region) return region < marked.size() && marked[region] == name;
    const auto& functions = options_.regions.functions;
    const std::size_t function = region - trace::first_function_region;
    return function < functions.size() && functions[function].name == name;
}

bool CopyWindows::is_wanted(std::uint32_t region) const {
    if (!options_.attribute_in.empty())
        return is_called(region, options_.attribute_in,
                         regions_.page ? regions_.page->names() : std::vector<std::string>());
    // A trace is of the whole command, or of one region.
    return options_.trace.file.empty();
}

Result<std::vector<WindowFacts>> CopyWindows::model(trace::Sample& sample, bool from_start,
                                                    const Following& following) {
    copy_ = sample.snapshot.copy();
    Copy copy(sample, decoder_, options_.software_always,
              {region_paths_, regions_.page, regions_.functions, sample.snapshot.identity, seen_entries_},
              regions_.page, translations_of(sample.snapshot.process));
    further_windows_ = following.at_ns.size() == 1 ? windows_of_the_only_one : windows_of_many;
    std::vector<WindowFacts> moments;
    double now_ns = 0;  // of the copy's time
    for (std::size_t number = 0; number < following.at_ns.size(); ++number) {
        if (number > 0) {
            if (copy.ended || !TRY(go_on(copy, following, following.at_ns[number] - now_ns))) break;
            now_ns = std::max(now_ns, following.at_ns[number]);
        }
        const double at_ns = sample.at_ns + now_ns / sample.share;
        const std::uint64_t ticks_before = copy.ticks;
        look_at_memory(copy, number == 0, from_start);
        if (regions_.any()) copy.regions.look(copy.process);
        std::vector<process::MemoryMapping> mappings;
        if (options_.keeps_mappings()) mappings = process::memory_mappings_of(copy_);
        auto facts = moment(copy, number == 0, from_start);
        // What was followed is about so far on: a cycle an instruction.
        now_ns += static_cast<double>(copy.ticks - ticks_before) * cycle_ns_;
        // What it mapped meanwhile is there, too. A copy that is gone has none.
        if (auto now = options_.keeps_mappings() ? process::memory_mappings_of(copy_) : mappings; !now.empty())
            mappings = std::move(now);
        if (!facts) {
            if (moments.empty()) return pass_on(facts);
            found_.error = facts.error().what;
            break;
        }
        if (is_nothing(*facts)) continue;
        facts->process = copy.of;
        facts->at_ns = at_ns;
        facts->mappings = std::move(mappings);
        moments.push_back(std::move(*facts));
    }
    const std::uint64_t start = process::now_ns();
    if (const auto taken = take_entries(copy, following); !taken) found_.error = taken.error().what;
    entries_ns_ += static_cast<double>(process::now_ns() - start);
    copy_ = -1;
    translations_.emplace_front(copy.of, copy.translator.take());
    translations_.resize(std::min(translations_.size(), most_translated));
    return moments;
}

trace::Translator::Translations CopyWindows::translations_of(pid_t process) {
    const auto known = std::ranges::find(translations_, process, [](const auto& one) { return one.first; });
    if (known == translations_.end()) return {};
    auto translations = std::move(known->second);
    translations_.erase(known);
    return translations;
}

/// Lets the copy run on to where regions begin, for windows of these.
Result<> CopyWindows::take_entries(Copy& copy, const Following& following) {
    if (!following.entries || copy.ended || !copy.translator.translates()) return {};
    FollowedCopy followed{copy.process,
                          copy.tracer,
                          copy.translator,
                          copy.regions,
                          copy.page ? &*copy.page : nullptr,
                          [&](const trace::StaticInstruction& instruction, trace::Step& step) {
                              return copy.executed(instruction, step);
                          },
                          [this] { return resident_bytes_of(copy_); },
                          copy.ticks,
                          copy.ended};
    for (const EntryWish& wish : following.entries()) {
        if (copy.ended) break;
        auto taken = TRY(entries_.take(followed, wish, entries_taken_));
        for (EntryWindow& window : taken) {
            entries_taken_ = window.entry + 1;
            window.facts.process = copy.of;
            if (options_.keeps_mappings()) window.facts.mappings = process::memory_mappings_of(copy_);
            found_.steps += static_cast<std::uint64_t>(value_of(window.facts.base, "instructions"));
            found_.entries.push_back(std::move(window));
        }
        in_between_();
    }
    return {};
}

/// Lets the copy run to its next moment. False: there is none, or no time for it.
Result<bool> CopyWindows::go_on(Copy& copy, const Following& following, double run_ns) {
    const std::uint64_t most_bytes = copy.resident_bytes + most_growth_bytes;
    const auto goes_on = [&] { return following.goes_on() && resident_bytes_of(copy_) < most_bytes; };
    if (!goes_on()) return false;
    if (run_ns <= 0) return true;
    const auto ran = trace::NativeRun(copy.process, copy.tracer).run_for(run_ns, goes_on);
    if (!ran) {
        if (ran.error().code == ErrorCode::unavailable) return false;
        found_.error = ran.error().what;
        return false;
    }
    copy.ticks += ran->ticks;
    native_ns_ += ran->processor_ns;
    if (ran->ended) note_end(copy, trace::EndedEarly::none);
    return !ran->ended && goes_on();
}

void CopyWindows::look_at_memory(const Copy& copy, bool first, bool from_start) {
    const std::uint64_t resident = first ? copy.resident_bytes : resident_bytes_of(copy_);
    // What runs from its exec on finds everything cold.
    simulator_.begin_moment(first && from_start ? 0 : resident);
    if (!pages_assumed_) simulator_.set_pages(trace::PageMap::of_process(copy_));
    // A program that begins maps its libraries' files.
    simulator_.set_untouched(first && from_start ? trace::UntouchedPages() : trace::UntouchedPages::of_process(copy_));
}

/// Whether the next moment is simulated with what is not known changed, too, which takes several times as long. Where
/// slots are put down to instructions, each is.
bool CopyWindows::is_varied() { return moments_++ % varied_apart == 0 || options_.attribute; }

/// A moment is more than one window of it: a few more, a little apart, as long as that is cheap.
Result<> CopyWindows::add_further_windows(Copy& copy, WindowFacts& facts) {
    constexpr double budget_ns = 120e6;
    const double start = own_processor_ns();
    for (std::size_t i = 0; i < further_windows_ && own_processor_ns() - start < budget_ns; ++i) {
        auto traced = TRY(
            copy.translator.steps(windows_apart, [&](const trace::StaticInstruction& instruction, trace::Step step) {
                if (copy.executed(instruction, step)) simulator_.follow(instruction, step);
            }));
        note(traced);
        found_.warmed += traced.steps;
        Steps window;
        window.reserve(options_.window_instructions);
        const auto goes_on = [&] {
            copy.ended = traced.ended || traced.ended_early != trace::EndedEarly::none;
            if (copy.ended) note_end(copy, traced.ended_early);
            return !copy.ended;
        };
        if (!goes_on()) break;
        traced = TRY(copy.translator.steps(options_.window_instructions,
                                           [&](const trace::StaticInstruction& instruction, trace::Step step) {
                                               if (copy.executed(instruction, step)) window.push_back(step);
                                           }));
        note(traced);
        if (window.size() < shortest_window || !is_like_sampled(window)) {
            goes_on();
            break;
        }
        found_.steps += window.size();
        merge(facts, TRY(simulate(trace_of(std::move(window), copy.translator), {}, false)));
        if (!goes_on()) break;
        in_between_();
    }
    return {};
}

/// A life too short for a window is kept, and the next ones of the same process are added to it until together they
/// are one.
void CopyWindows::join(const Copy& copy, trace::Trace& window) {
    trace::Trace& joined = joined_[copy.of];
    if (!joined.steps.empty()) {
        const auto first = static_cast<std::uint32_t>(joined.instructions.size());
        joined.instructions.insert(joined.instructions.end(), window.instructions.begin(), window.instructions.end());
        for (trace::Step step : window.steps) {
            step.instruction += first;
            joined.steps.push_back(step);
        }
        window = std::move(joined);
    }
    joined = window.steps.size() < shortest_window ? window : trace::Trace();
}

/// Lets the copy go on, first for the caches and then for a window: its last instructions, wherever it came to its
/// end. Nothing when there was none.
Result<WindowFacts> CopyWindows::moment(Copy& copy, bool first, bool from_start) {
    trace::Translator& translator = copy.translator;
    std::size_t& followed = followed_[copy.of];
    const WarmUpLimits limits = followed ? warm_up_again() : WarmUpLimits{};
    const double start = own_processor_ns();
    Steps waiting, fresh;  // the last chunk, of which the window may be, and the one after it
    std::optional<process::StackTop> waiting_from;
    std::vector<WindowOfMoment> of_moment;
    std::size_t done = 0;
    bool warm = false, found = false;
    auto early = trace::EndedEarly::none;
    from_start &= first;
    while (!copy.ended && !found) {
        fresh.clear();
        auto fresh_from = options_.attribute ? trace::read_stack_top(copy.process) : std::nullopt;
        const std::uint64_t lines_before = simulator_.lines_from_memory();
        auto traced = TRY(translator.steps(done && !warm ? limits.chunk : options_.window_instructions,
                                           [&](const trace::StaticInstruction& instruction, trace::Step step) {
                                               if (copy.executed(instruction, step)) fresh.push_back(step);
                                           }));
        note(traced);
        early = traced.ended_early;
        copy.ended = traced.ended || early != trace::EndedEarly::none;
        if (!done) sampled_.emplace(fresh);
        if (!copy.ended && !warm && !from_start) keep_of_moment(fresh, fresh_from, done, of_moment);
        done += fresh.size();
        found_.translated |= translator.translates();
        if (!copy.ended) {
            follow(waiting, waiting.size(), translator);
            waiting.clear();
        }
        if (waiting.empty()) {
            waiting_from = std::move(fresh_from);
            waiting.swap(fresh);
        } else {
            waiting.insert(waiting.end(), fresh.begin(), fresh.end());
        }
        const double spent = own_processor_ns() - start;
        const bool enough = spent >= limits.budget_ns && (!translator.translates() || done >= limits.least);
        warm = warm || done >= limits.most || enough ||
               (done > 3 * limits.chunk && simulator_.lines_from_memory() == lines_before);
        // Not just any window: one of what ran in the moment that was sampled, if that comes again in time.
        found = warm && (from_start || done >= 2 * limits.most || spent >= limits.budget_ns + search_ns ||
                         is_like_sampled(waiting));
        in_between_();
    }
    if (copy.ended) note_end(copy, early);
    if (!copy.ended && spins(waiting, copy.tracer, copy.process, translator)) {
        copy.ended = true;
        ++found_.sampling.ended_early[std::string(name_of(trace::EndedBy::spins))];
        return WindowFacts{};
    }
    followed += done;
    hardly_warm_ = copy.ended && followed < WarmUpLimits{}.least;
    if (!of_moment.empty() && (copy.ended || !is_like_sampled(waiting))) {
        follow(waiting, waiting.size(), translator);
        return simulate_moment(of_moment, done, translator);
    }
    // The first part of a short life is for the caches.
    const std::size_t window = std::min(options_.window_instructions, waiting.size() - waiting.size() / 4);
    follow(waiting, waiting.size() - window, translator);
    trace::Trace trace = trace_of({waiting.end() - static_cast<std::ptrdiff_t>(window), waiting.end()}, translator);
    found_.steps += window;
    found_.warmed += done - window;
    const std::size_t before = waiting.size() - window;
    if (first) join(copy, trace);
    const bool joined = trace.steps.size() != window;
    const CallFollower calls = joined ? CallFollower() : calls_of(waiting, before, translator);
    auto facts = TRY(simulate(trace, calls, is_varied()));
    if (!joined) facts.stack = std::move(waiting_from);
    // Where slots are put down to instructions, each window is by itself.
    if (!copy.ended && !is_nothing(facts) && !options_.attribute) TRY(add_further_windows(copy, facts));
    return facts;
}

/// Some windows of the moment itself and of what is like it, a little apart, are taken out of what warms the
/// caches: where the life of the copy is short, or never comes to the like again, they are simulated when the
/// caches know what came after them, which is as much like what came before them as anything that can be had.
void CopyWindows::keep_of_moment(Steps& fresh, const std::optional<process::StackTop>& from, std::size_t done,
                                 std::vector<WindowOfMoment>& kept) const {
    if (kept.size() > further_windows_ || done < kept.size() * windows_apart || !is_like_sampled(fresh)) return;
    const auto window = std::min(options_.window_instructions, fresh.size());
    const std::size_t told = options_.attribute ? fresh.size() - window : 0;
    kept.push_back({{fresh.end() - static_cast<std::ptrdiff_t>(window + told), fresh.end()}, told, from});
    fresh.resize(fresh.size() - window);
}

void CopyWindows::note(const trace::Traced& traced) {
    found_.undecodable += traced.undecodable;
    found_.in_software += traced.stepped_in_software;
}

void CopyWindows::note_end(const Copy& copy, trace::EndedEarly early) {
    const std::string_view why = early != trace::EndedEarly::none
                                     ? trace::name_of(early)
                                     : name_of(copy.calls.ended().value_or(trace::EndedBy::signals));
    ++found_.sampling.ended_early[std::string(why)];
}

}  // namespace tmaprobe::model
