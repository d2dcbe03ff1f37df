#include "model/followed_run.h"

#include <sys/syscall.h>

#include <algorithm>

namespace tmaprobe::model {
namespace {

long call_number(const trace::Registers& registers) {
#if defined(__x86_64__)
    return static_cast<long>(registers.native.rax);
#else
    return static_cast<long>(registers.native.regs[8]);
#endif
}

bool call_starts_another(long call) {
#if defined(__x86_64__)
    if (call == SYS_fork || call == SYS_vfork) return true;
#endif
    return call == SYS_clone || call == SYS_clone3;
}

bool reads_clock(long call) {
#if defined(__x86_64__)
    if (call == SYS_time) return true;
#endif
    return call == SYS_clock_gettime || call == SYS_gettimeofday || call == SYS_times || call == SYS_getrusage;
}

}  // namespace

FollowedRun::FollowedRun(trace::FixedStart start, trace::Decoder& decoder, std::unique_ptr<FollowedRegions> regions)
    : start_(std::move(start)),
      regions_(std::move(regions)),
      tracer_(start_.process, decoder, false),
      counting_(start_.process, tracer_, trace::Translator::Notes::blocks),
      following_(start_.process, tracer_) {
    tracer_.on_system_call = [this](trace::TracedProcess&, const trace::Registers& registers) {
        return on_call(registers);
    };
    // The same each time, and never back: what is executed goes on in its place.
    tracer_.time_stamp = [this] {
        constexpr std::uint64_t between_reads = 1000;
        // The loader takes its own times, and does nothing with them.
        const auto registers = start_.process.registers();
        const std::uint64_t at = registers ? registers->instruction_pointer() : 0;
        if (at < start_.loader_begin || at >= start_.loader_end) ++clock_reads_;
        return executed_ + between_reads * ++time_stamps_;
    };
}

Result<std::unique_ptr<FollowedRun>> FollowedRun::start(const std::vector<std::string>& command,
                                                        trace::Decoder& decoder, const trace::ShownCpu& shown,
                                                        const RegionWish& regions) {
    auto told = TRY(FollowedRegions::prepare(regions));
    auto variable = told->variable();
    auto fixed = TRY(trace::start_fixed(command));
    variable.reset();
    told->started_as(fixed.process.pid());
    std::unique_ptr<FollowedRun> run(new FollowedRun(std::move(fixed), decoder, std::move(told)));
    run->tracer_.on_cpuid = [shown](const trace::Registers& before, trace::Registers& after) {
        shown.answer(before, after);
    };
    run->tracer_.on_xgetbv = [shown](const trace::Registers& before, trace::Registers& after) {
        shown.answer_state(before, after);
    };
    // Both have their memory from the start: it decides where the program's own comes to lie.
    TRY(run->execute(run->counting_, 1, {}));
    TRY(run->execute(run->following_, 2, {}));
    return run;
}

trace::Tracer::CallAnswer FollowedRun::on_call(const trace::Registers& registers) {
    const long call = call_number(registers);
    started_others_ |= call_starts_another(call);
    if (reads_clock(call)) ++clock_reads_;
    if (call == SYS_exit_group || call == SYS_exit) note_mappings();
    return trace::Tracer::CallAnswer::carry_out;
}

void FollowedRun::note_mappings() {
    for (const auto& mapping : process::code_mappings_of(start_.process.pid())) {
        const bool overlaps = std::ranges::any_of(
            mappings_, [&](const auto& known) { return mapping.begin < known.end && known.begin < mapping.end; });
        if (!overlaps) mappings_.push_back(mapping);
    }
    std::ranges::sort(mappings_, {}, &process::CodeMapping::begin);
}

std::uint64_t FollowedRun::writable_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& mapping : process::memory_mappings_of(start_.process.pid()))
        if (mapping.writable && !counting_.has_for_itself(mapping.begin) && !following_.has_for_itself(mapping.begin))
            sum += mapping.end - mapping.begin;
    return sum;
}

Result<> FollowedRun::execute(trace::Translator& translator, std::uint64_t position, const trace::OnStep& on_step) {
    constexpr std::uint64_t at_once = 100'000'000;
    while (!ended_ && executed_ < position && !translator.met()) {
        if (last_ != &translator) {
            const std::size_t remappings = last_ ? last_->remappings() : 0;
            if (remappings != remappings_seen_) translator.mappings_changed();
            remappings_seen_ = translator.remappings();
            last_ = &translator;
        }
        const auto traced = TRY(translator.steps(std::min(at_once, position - executed_), on_step));
        executed_ += traced.steps;
        ended_ = traced.ended;
        if (traced.ended_early != trace::EndedEarly::none) {
            // From here on it cannot be followed; it goes on by itself.
            followed_to_end_ = false;
            ended_ = true;
        }
    }
    return {};
}

Result<> FollowedRun::go_to(std::uint64_t position) { return execute(counting_, position, {}); }

Result<bool> FollowedRun::go_to_code(std::vector<std::uint64_t> addresses, std::uint64_t position) {
    return execute_to_code(counting_, std::move(addresses), position);
}

Result<bool> FollowedRun::execute_to_code(trace::Translator& translator, std::vector<std::uint64_t> addresses,
                                          std::uint64_t position) {
    translator.await(std::move(addresses));
    TRY(execute(translator, position, {}));
    const bool met = translator.met();
    translator.await({});
    return met;
}

Result<std::uint64_t> FollowedRun::go_to_end() {
    TRY(execute(counting_, ~std::uint64_t{0}, {}));
    TRY(start_.process.finish());
    return executed_;
}

Result<> FollowedRun::follow(std::uint64_t count, std::vector<trace::Step>& steps) {
    constexpr std::size_t some_more = 1000;
    std::vector<trace::Step> executed;
    executed.reserve(count + some_more);
    regions_->look(start_.process);
    TRY(execute(following_, executed_ + count,
                [&](const trace::StaticInstruction&, const trace::Step& step) { executed.push_back(step); }));
    // The first mark may have been among them: before it nothing was open.
    regions_->look_for_marks(start_.process);
    steps.reserve(executed.size());
    for (trace::Step& step : executed)
        if (regions_->is_own(following_.instructions()[step.instruction], step)) steps.push_back(step);
    return {};
}

Result<bool> FollowedRun::watch(std::uint64_t position, trace::BlockListener& listener,
                                std::vector<std::uint64_t> addresses) {
    following_.tell(&listener);
    const auto met = execute_to_code(following_, std::move(addresses), position);
    following_.tell(nullptr);
    return met;
}

std::shared_ptr<const std::vector<trace::StaticInstruction>> FollowedRun::instructions() {
    const auto& now = following_.instructions();
    if (!instructions_ || instructions_->size() != now.size())
        instructions_ = std::make_shared<const std::vector<trace::StaticInstruction>>(now);
    return instructions_;
}

}  // namespace tmaprobe::model
