#include "trace/translator.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/x86_encoding.h"

namespace tmaprobe::trace {

Translator::Translator(TracedProcess& process, Tracer& tracer, Notes notes)
    : process_(process), tracer_(tracer), notes_(notes), area_(process), watch_(process) {}

Translator::Translator(TracedProcess& process, Tracer& tracer, Translations known)
    : process_(process),
      tracer_(tracer),
      notes_(Notes::blocks_and_addresses),
      area_(process),
      watch_(process, std::move(known.pages_)),
      known_(std::move(known.known_)) {
    if (known.area_.base) brought_ = std::move(known.area_);
}

Result<Traced> Translator::step_only(std::size_t count, const OnStep& on_step) {
    Trace trace;
    const bool tells = allocations_ && count == 1;
    if (tells) tell_before_step();
    auto traced = tracer_.trace(count, trace);
    if (!traced) return traced;
    if (tells && !traced->ended) tell_after_step(trace);
    for (Step step : trace.steps) {
        step.instruction = number_of(trace.instructions[step.instruction]);
        ++known_.counted[step.instruction];
        if (on_step) on_step(known_.instructions[step.instruction], step);
        if (listener_ && !on_step) tell_step(step);
    }
    return traced;
}

void Translator::tell_step(const Step& step) {
    const StaticInstruction& what = known_.instructions[step.instruction];
    listener_->block(what.address);
    if (step.load || step.store) listener_->access(step.instruction, step.load, step.store);
    if (what.branch) listener_->branch(step.instruction, what);
}

#if !defined(__x86_64__)

void Translator::tell_before_step() {}
void Translator::tell_after_step(const Trace&) {}

Result<Traced> Translator::steps(std::size_t count, const OnStep& on_step) { return step_only(count, on_step); }

#else

namespace {

void add(Traced& sum, const Traced& more) {
    sum.steps += more.steps;
    sum.undecodable += more.undecodable;
    sum.stepped_in_software += more.stepped_in_software;
    sum.ended = more.ended;
    sum.code_changed |= more.code_changed;
    sum.ended_early = more.ended_early;
}

}  // namespace

void Translator::Use::note(std::size_t amount, std::size_t steps) {
    amount_ += amount;
    steps_ += steps;
    if (steps_ < enough_steps_ && amount_ < enough_amount_) return;
    if (steps_ > 0) per_step_ = static_cast<double>(amount_) / static_cast<double>(steps_);
    amount_ = steps_ = 0;
}

Result<Traced> Translator::steps(std::size_t count, const OnStep& on_step) {
    Traced all;
    while (all.steps < count && !all.ended && all.ended_early == EndedEarly::none && !met_) {
        auto part = stretch(count - all.steps, on_step);
        if (!part) return part;
        add(all, *part);
    }
    return all;
}

Result<Traced> Translator::stretch(std::size_t count, const OnStep& on_step) {
    if (refused_) return step_only(count, on_step);
    // One step in place brings an interrupted system call to its end, and refuses 32-bit code.
    auto traced = step_only(1, on_step);
    if (!traced || traced->ended || traced->ended_early != EndedEarly::none) return traced;
    TRY(prepare());
    if (refused_) return traced;
    auto registers = TRY(process_.registers());
    fs_base_ = registers.native.fs_base;
    gs_base_ = registers.native.gs_base;
    std::uint64_t address = registers.instruction_pointer();
    has_allowed_ = false;
    TRY(plant());
    auto ran = run(address, count, on_step, *traced);
    // Whoever ended is read no more.
    if (ran && !traced->ended && area_.is_mapped() && area_.is_there()) {
        ran = collect(*traced);
        take_out();
    }
    if (!ran) {
        (void)leave_from_anywhere();  // the first failure is the one to tell
        return pass_on(ran);
    }
    return traced;
}

Result<> Translator::run(std::uint64_t& address, std::size_t count, const OnStep& on_step, Traced& traced) {
    const auto goes_on = [&] {
        return traced.steps < count && !traced.ended && traced.ended_early == EndedEarly::none && area_.is_mapped() &&
               !met_;
    };
    drained_nothing_ = false;
    while (goes_on()) {
        auto registers = TRY(process_.registers());
        if (registers.single_steps_itself()) {
            traced.ended_early = EndedEarly::trap_flag;
            return {};
        }
        if (is_full()) {
            TRY(collect(traced));
            TRY(flush());
        }
        if (auto opened = open_buffer(count - traced.steps); !opened) return opened;
        if (notes_ == Notes::blocks && !has_allowed_) TRY(allow_steps(count - traced.steps));
        if (auto entered = resume_at(address, registers); !entered) return entered;
        // Until the buffer is full, or something has to be done at a place that the steps so far lead to.
        for (;;) {
            auto event = TRY(wait_for_event());
            if (event.kind == Event::Kind::ended) {
                traced.ended = true;
                return {};
            }
            address = event.registers.instruction_pointer();
            const bool links = event.kind == Event::Kind::trap && event.trap.kind != Trap::Kind::in_place;
            if (links && event.trap.kind == Trap::Kind::stale) traced.code_changed = true;
            if (links && !is_full()) {
                if (auto linked = link(event.trap); !linked) return linked;
                if (auto resumed = resume_at(address, event.registers); !resumed) return resumed;
                continue;
            }
            if (auto drained = drain(on_step, traced, event.position); !drained) return drained;
            if (event.position) TRY(collect(traced, event.position));
            if (auto set = process_.set_registers(event.registers); !set) return set;
            // With links, the area is full: it is emptied before the program goes on.
            if (!links && event.kind == Event::Kind::signal) {
                if (auto delivered = deliver_signal(address, event, traced); !delivered) return delivered;
            } else if (event.kind == Event::Kind::met) {
                met_ = true;
            } else if (!links && event.kind != Event::Kind::buffer_full && event.kind != Event::Kind::enough_steps) {
                if (auto stepped = step_in_place(address, on_step, traced); !stepped) return stepped;
            }
            break;
        }
    }
    return {};
}

Result<> Translator::step_in_place(std::uint64_t& address, const OnStep& on_step, Traced& traced) {
    const auto before = TRY(process_.registers());
    constexpr std::uint8_t system_call[2] = {0x0f, 0x05};
    std::uint8_t bytes[sizeof system_call] = {};
    const bool known = process_.read(address, bytes, sizeof bytes) == sizeof bytes;
    const bool calls = known && std::memcmp(bytes, system_call, sizeof bytes) == 0;
    // What it leads out of takes the counters with it.
    const auto call = before.native.rax;
    if (calls && (call == SYS_exit || call == SYS_exit_group || call == SYS_execve || call == SYS_execveat))
        TRY(collect(traced));
    auto stepped = TRY(step_only(1, on_step));
    add(traced, stepped);
    if (traced.ended) return {};
    const auto after = TRY(process_.registers());
    // Segment bases change by system calls and by instructions that are executed in place.
    fs_base_ = after.native.fs_base;
    gs_base_ = after.native.gs_base;
    address = after.instruction_pointer();
    if (!calls) return {};
    // Another program has begun, in memory of its own: run() ends, and the next stretch begins anew.
    if ((call == SYS_execve || call == SYS_execveat) && !area_.is_there()) {
        area_.lost();
        return {};
    }
    drop_remapped(before, after);
    return {};
}

Result<> Translator::deliver_signal(std::uint64_t& address, const Event& event, Traced& traced) {
    // The step ends before the handler's first instruction.
    int signal = event.signal;
    for (;;) {
        auto stop = TRY(process_.step(signal));
        signal = stop.why == Stop::Why::signal ? stop.signal : 0;
        traced.ended = stop.why == Stop::Why::exited;
        if (traced.ended) return {};
        if (stop.why == Stop::Why::step) break;
    }
    const auto at_handler = TRY(process_.registers());
    address = at_handler.instruction_pointer();
    return {};
}

Result<> Translator::open_buffer(std::size_t remaining) {
    // As many as the rest will take, a little less: the last part is then short, and few steps too many are made.
    constexpr double cautious = 0.9;
    constexpr std::size_t for_allocations = 5, most_of_a_block = 1 + 4 * longest_block + for_allocations;
    auto entries = static_cast<std::size_t>(cautious * entries_.per_step() * static_cast<double>(remaining));
    if (drained_nothing_) entries = std::max(entries, most_of_a_block);
    return area_.open_buffer(entries);
}

bool Translator::is_full() const {
    return area_.room_for_code() < room_for_translation ||
           known_.blocks.size() + blocks_at_once > TranslationArea::most_blocks;
}

Result<> Translator::allow_steps(std::size_t remaining) {
    // As open_buffer(): more is executed than is counted down, as much as it was lately.
    constexpr double cautious = 0.7, most = 1e18;
    constexpr std::int64_t least = 2 * longest_block;
    const double wanted = cautious * counted_down_.per_step() * static_cast<double>(remaining);
    allowed_ = std::max(least, static_cast<std::int64_t>(std::min(most, wanted)));
    has_allowed_ = true;
    return area_.allow_steps(allowed_);
}

Result<> Translator::plant() {
    planted_.clear();
    for (const std::uint64_t address : awaited_) {
        if (is_full()) return {};
        const std::uint64_t code = TRY(code_for(address));
        // Where a block has no instruction to copy it stops anyway.
        if (!code || known_.traps.contains(code + 1)) continue;
        const std::uint8_t byte = area_.patch_trap(code);
        known_.traps[code + 1] = {Trap::Kind::awaited, address, 0};
        planted_.emplace_back(code, byte);
    }
    return {};
}

void Translator::take_out() {
    for (const auto& [code, byte] : std::exchange(planted_, {})) {
        const auto trap = known_.traps.find(code + 1);
        // Translations that were dropped meanwhile have taken it with them.
        if (trap == known_.traps.end() || trap->second.kind != Trap::Kind::awaited) continue;
        known_.traps.erase(trap);
        area_.put_back(code, byte);
    }
}

Result<> Translator::collect(Traced& traced, const std::optional<Boundary>& position) {
    if (notes_ != Notes::blocks) return {};
    const std::size_t before = traced.steps;
    TRY(area_.read_counters(known_.blocks.size(), counters_));
    for (std::size_t number = 0; number < known_.blocks.size(); ++number) {
        Block& block = known_.blocks[number];
        if (!block.counted) continue;
        const std::uint64_t more = counters_[number] - block.counter;
        block.counter = counters_[number];
        block.executions += more;
        traced.steps += more * block.plan.steps.size();
        traced.stepped_in_software += more * block.in_software;
    }
    if (position && known_.blocks[position->block].counted && position->kind != Boundary::Kind::check) {
        Block& block = known_.blocks[position->block];
        const bool is_counted = position->kind == Boundary::Kind::instruction && position->index >= block.counted_at;
        if (is_counted) {
            --block.executions;
            traced.steps -= block.plan.steps.size();
            traced.stepped_in_software -= block.in_software;
        }
        count_executions(block.plan, position->index, 1);
        traced.steps += position->index;
    }
    // What stops for another reason leaves the rest of what was allowed.
    const bool is_enough = position && position->kind == Boundary::Kind::enough_steps;
    if (!is_enough) return {};
    has_allowed_ = false;
    const std::int64_t left = TRY(area_.allowed_steps());
    counted_down_.note(static_cast<std::size_t>(std::max<std::int64_t>(0, allowed_ - left)), traced.steps - before);
    return {};
}

Result<> Translator::drain(const OnStep& on_step, Traced& traced, const std::optional<Boundary>& position) {
    if (auto read = area_.read_buffer(buffer_); !read) return read;
    drained_nothing_ = buffer_.empty();
    const std::size_t before = traced.steps;
    std::size_t at = 0;
    while (at < buffer_.size()) {
        const std::uint64_t number = buffer_[at];
        const bool whole = number < known_.blocks.size() && buffer_.size() - at >= known_.blocks[number].plan.entries;
        if (!whole) return fail(ErrorCode::system, "the translator's memory was written by the traced program");
        Block& block = known_.blocks[number];
        buffer_[at] = 0;  // entry 0 stands for no register
        const bool is_last = at + block.plan.entries == buffer_.size();
        const bool in_a_block = position && position->kind == Boundary::Kind::instruction;
        const bool cut_short = is_last && in_a_block && position->block == number;
        const std::size_t steps = cut_short ? position->index : block.plan.steps.size();
        const std::uint64_t* entries = buffer_.data() + at;
        traced.steps +=
            listener_ && !on_step ? tell_block(block, entries, steps) : replay(block, entries, steps, on_step);
        if (block.begins != AllocatorCall::none || block.ends != Block::Ends::otherwise) tell_of(block, entries, steps);
        if (cut_short) {
            count_executions(block.plan, steps, 1);
        } else {
            ++block.executions;
            traced.stepped_in_software += block.in_software;
        }
        at += block.plan.entries;
    }
    entries_.note(buffer_.size(), traced.steps - before);
    return {};
}

std::uint64_t Translator::address_of(const RecordedAddress& address, const std::uint64_t* entries) const {
    const std::uint64_t segment = address.segment == 0 ? 0 : address.segment == 'f' ? fs_base_ : gs_base_;
    const std::uint64_t index = entries[address.index] << address.shift;
    return static_cast<std::uint64_t>(address.constant) + entries[address.base] + index + segment;
}

std::size_t Translator::tell_block(const Block& block, const std::uint64_t* entries, std::size_t count) {
    if (count == 0) return 0;
    if (block.plan.has_strings)
        return replay(block, entries, count, [this](const StaticInstruction&, const Step& step) { tell_step(step); });
    listener_->block(block.start);
    using Kind = PlannedStep::Kind;
    for (const std::uint16_t i : block.plan.accesses) {
        if (i >= count) return count;
        const PlannedStep& planned = block.plan.steps[i];
        listener_->access(planned.instruction, planned.kind == Kind::store ? 0 : address_of(planned.load, entries),
                          planned.kind == Kind::load ? 0 : address_of(planned.store, entries));
    }
    if (count < block.plan.steps.size()) return count;
    const std::uint32_t last = block.plan.steps.back().instruction;
    if (known_.instructions[last].branch) listener_->branch(last, known_.instructions[last]);
    return count;
}

std::size_t Translator::replay(const Block& block, const std::uint64_t* entries, std::size_t count,
                               const OnStep& on_step) {
    constexpr std::uint64_t piece_bytes = 32;  // what one micro-operation of a repeated string instruction moves
    if (!on_step && !block.plan.has_strings) return count;
    std::size_t executed = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const PlannedStep& planned = block.plan.steps[i];
        const StaticInstruction& instruction = known_.instructions[planned.instruction];
        Step step{planned.instruction, 0, 0};
        using Kind = PlannedStep::Kind;
        if (planned.kind == Kind::load || planned.kind == Kind::both) step.load = address_of(planned.load, entries);
        if (planned.kind == Kind::store || planned.kind == Kind::both) step.store = address_of(planned.store, entries);
        if (planned.kind != Kind::string) {
            if (on_step) on_step(instruction, step);
            ++executed;
            continue;
        }
        const auto moved = static_cast<std::int64_t>(entries[planned.moved_to] - entries[planned.moved_from]);
        const std::uint64_t bytes = static_cast<std::uint64_t>(moved < 0 ? -moved : moved);
        const std::uint64_t load = address_of(planned.load, entries), store = address_of(planned.store, entries);
        known_.counted[planned.instruction] += bytes ? (bytes - 1) / piece_bytes : 0;  // the first is that of the block
        for (std::uint64_t done = 0; done == 0 || done < bytes; done += piece_bytes) {
            const std::uint64_t offset = moved < 0 ? ~done + 1 : done;
            step.load = instruction.loads && bytes ? load + offset : 0;
            step.store = instruction.stores && bytes ? store + offset : 0;
            if (on_step) on_step(instruction, step);
            ++executed;
        }
    }
    return executed;
}

void Translator::tell_of(const Block& block, const std::uint64_t* entries, std::size_t count) {
    const auto value = [&](const RecordedAddress& recorded) { return address_of(recorded, entries); };
    const BlockPlan& plan = block.plan;
    if (block.begins != AllocatorCall::none)
        allocations_->entered(block.begins, value(plan.stack_pointer),
                              {value(plan.arguments[0]), value(plan.arguments[1]), value(plan.arguments[2])});
    if (count < plan.steps.size()) return;
    const PlannedStep& last = plan.steps.back();
    if (block.ends == Block::Ends::call)
        allocations_->called(value(last.store), known_.instructions[last.instruction].address);
    else if (block.ends == Block::Ends::returns)
        allocations_->returned(value(last.load), value(plan.result));
}

void Translator::tell_before_step() {
    const auto registers = process_.registers();
    if (!registers) return;
    const AllocatorCall call = allocations_->begins_at(registers->instruction_pointer());
    if (call != AllocatorCall::none)
        allocations_->entered(call, registers->stack_pointer(),
                              {registers->general(rdi), registers->general(rsi), registers->general(rdx)});
}

void Translator::tell_after_step(const Trace& trace) {
    for (const Step& step : trace.steps) {
        const StaticInstruction& instruction = trace.instructions[step.instruction];
        if (instruction.call) allocations_->called(step.store, instruction.address);
        if (!instruction.returns) continue;
        if (const auto registers = process_.registers()) allocations_->returned(step.load, registers->general(rax));
    }
}

#endif

}  // namespace tmaprobe::trace
