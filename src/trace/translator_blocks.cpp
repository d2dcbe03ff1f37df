// What the translator knows of the program's code: blocks, how they are linked, and when they are dropped.
#include "trace/translator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tmaprobe::trace {

Translator::Translations Translator::take() {
    Translations all;
    constexpr std::size_t most_instructions = std::size_t{1} << 19;  // some hundred bytes each
    const bool stands_alone = notes_ == Notes::blocks_and_addresses && !allocations_ && planted_.empty();
    if (!stands_alone || known_.instructions.size() > most_instructions) return all;
    all.area_ = brought_ ? *std::exchange(brought_, std::nullopt) : area_.take();
    all.pages_ = watch_.take();
    all.known_ = std::exchange(known_, {});
    return all;
}

std::vector<std::uint64_t> Translator::executions() const {
    std::vector<std::uint64_t> sums = known_.counted;
    for (const Block& block : known_.blocks)
        for (const PlannedStep& step : block.plan.steps) sums[step.instruction] += block.executions;
    return sums;
}

std::vector<Translator::BlockCount> Translator::block_counts() const {
    std::vector<BlockCount> counts;
    for (const Block& block : known_.blocks) counts.push_back({block.start, block.executions, block.plan.steps.size()});
    return counts;
}

void Translator::count_executions(const BlockPlan& plan, std::size_t steps, std::uint64_t times) {
    for (std::size_t i = 0; i < steps; ++i) known_.counted[plan.steps[i].instruction] += times;
}

std::uint32_t Translator::number_of(const StaticInstruction& instruction) {
    const auto [entry, is_new] =
        known_.number_at.try_emplace(instruction.address, static_cast<std::uint32_t>(known_.instructions.size()));
    const auto is_same = [&](const StaticInstruction& known) {
        return known.bytes == instruction.bytes && known.length == instruction.length;
    };
    if (!is_new && is_same(known_.instructions[entry->second])) return entry->second;
    // Steps that were given out refer to what was there before.
    entry->second = static_cast<std::uint32_t>(known_.instructions.size());
    known_.instructions.push_back(instruction);
    known_.counted.push_back(0);
    return entry->second;
}

#if defined(__x86_64__)

Result<> Translator::prepare() {
    if (area_.is_mapped() && !area_.is_there()) area_.lost();
    if (brought_) bring_in();
    if (!area_.is_mapped()) {
        if (allocations_) allocations_->begin_anew();
        if (!area_.map(process_)) {
            refused_ = true;
            return {};
        }
        if (auto flushed = flush(); !flushed) return flushed;
    } else if (native_runs_ != process_.native_runs() || process_.has_further_threads()) {
        drop_changed_pages();
    }
    native_runs_ = process_.native_runs();
    return {};
}

void Translator::bring_in() {
    if (!area_.map_as(process_, *std::exchange(brought_, std::nullopt))) return area_.lost();
    native_runs_ = process_.native_runs();
    drop_changed_pages();
}

void Translator::drop_changed_pages() {
    watch_.mappings_changed();
    for (const std::uint64_t page : watch_.changed_pages()) drop_page(page);
}

Result<> Translator::flush() {
    for (const Block& block : known_.blocks) count_executions(block.plan, block.plan.steps.size(), block.executions);
    const std::size_t counters = notes_ == Notes::blocks ? known_.blocks.size() : 0;
    known_.blocks.clear();
    known_.boundaries.clear();
    known_.block_at.clear();
    known_.blocks_in_page.clear();
    known_.waiting.clear();
    known_.traps.clear();
    planted_.clear();
    watch_.clear();
    if (auto started = area_.start(counters); !started) return started;
    known_.traps[area_.layout().unknown_target] = {Trap::Kind::unknown_target, 0, 0};
    return {};
}

void Translator::drop_remapped(const Registers& before, const Registers& after) {
    for (const AddressRange& range : ranges_remapped(before, after.native.rax)) {
        ++remappings_;
        if (allocations_) allocations_->mappings_changed();
        watch_.mappings_changed();
        std::vector<std::uint64_t> pages;
        for (const auto& [page, blocks] : known_.blocks_in_page)
            if (page + CodeWatch::page_bytes > range.begin && page < range.end) pages.push_back(page);
        for (const std::uint64_t page : pages) drop_page(page);
    }
}

void Translator::drop_page(std::uint64_t page) {
    const auto found = known_.blocks_in_page.find(page);
    if (found == known_.blocks_in_page.end()) return;
    // Whatever leads to a block of the page meets a trap now, and the translator asks what is there.
    for (const std::uint32_t number : found->second) {
        const Block& block = known_.blocks[number];
        const auto current = known_.block_at.find(block.start);
        if (current == known_.block_at.end() || current->second != number) continue;
        area_.patch_trap(block.code);
        known_.traps[block.code + 1] = {Trap::Kind::stale, block.start, block.code};
        known_.block_at.erase(current);
    }
    known_.blocks_in_page.erase(found);
    watch_.drop(page);
}

std::uint64_t Translator::known_code(std::uint64_t address) const {
    const auto known = known_.block_at.find(address);
    return known == known_.block_at.end() ? 0 : known_.blocks[known->second].code;
}

Result<std::uint64_t> Translator::code_for(std::uint64_t address) {
    if (const std::uint64_t code = known_code(address)) return code;
    // Code that follows will most likely be reached: each stop that it saves costs as much as many a translation.
    std::vector<std::uint64_t> next{address}, return_sites;
    for (std::size_t i = 0; i < next.size() && i < blocks_at_once; ++i) {
        if (known_code(next[i])) continue;
        TRY(translate(next[i], next, return_sites));
    }
    for (const std::uint64_t site : return_sites)
        if (const std::uint64_t code = known_code(site)) TRY(area_.enter_in_table(site, code));
    return known_code(address);
}

StaticInstruction Translator::decode(std::uint64_t address, const std::uint8_t* bytes, std::size_t available) {
    const auto known = known_.number_at.find(address);
    if (known != known_.number_at.end()) {
        const StaticInstruction& instruction = known_.instructions[known->second];
        const bool fits = instruction.decoded && instruction.length <= available;
        if (fits && std::memcmp(bytes, instruction.bytes.data(), instruction.length) == 0) return instruction;
    }
    return tracer_.decode(bytes, available, address);
}

std::vector<std::uint32_t> Translator::read_block(std::uint64_t address, CodeMemory memory, bool& stops_before_next) {
    constexpr std::size_t longest_instruction = 15;
    std::array<std::uint8_t, longest_block * longest_instruction> bytes;
    const std::size_t available = watch_.read(address, bytes, memory);
    std::vector<std::uint32_t> numbers;
    std::size_t at = 0;
    stops_before_next = false;
    while (numbers.size() < longest_block) {
        if (at >= available) {
            stops_before_next = numbers.empty();
            break;
        }
        if (at > 0 && watch_.memory_of(address + at) != memory) break;
        const StaticInstruction instruction =
            decode(address + at, bytes.data() + at, std::min(available - at, longest_instruction));
        stops_before_next = !can_be_translated(instruction);
        if (stops_before_next) break;
        numbers.push_back(number_of(instruction));
        at += instruction.length;
        if (instruction.branch) break;
        // Code that may change itself is looked at again after each store.
        if (memory == CodeMemory::writable && instruction.stores && !instruction.push) break;
    }
    return numbers;
}

Result<> Translator::translate(std::uint64_t address, std::vector<std::uint64_t>& successors,
                               std::vector<std::uint64_t>& return_sites) {
    const CodeMemory memory = watch_.memory_of(address);
    BlockSource source;
    source.number = static_cast<std::uint32_t>(known_.blocks.size());
    const std::vector<std::uint32_t> numbers = read_block(address, memory, source.stops_before_next);
    std::vector<StaticInstruction> instructions;
    for (const std::uint32_t number : numbers) instructions.push_back(known_.instructions[number]);

    Block block;
    block.start = block.end = address;
    block.code = area_.next_code();
    if (allocations_ && !instructions.empty()) {
        block.begins = allocations_->begins_at(address);
        const StaticInstruction& last = instructions.back();
        if (last.call) block.ends = Block::Ends::call;
        if (last.returns && !last.far) block.ends = Block::Ends::returns;
    }
    block.plan =
        plan_block(instructions, numbers, {block.begins != AllocatorCall::none, block.ends == Block::Ends::returns});
    // How far a repeated instruction came is in its registers: such blocks leave these, and all of them are met.
    block.counted = notes_ == Notes::blocks && !block.plan.has_strings && !instructions.empty();
    for (const StaticInstruction& instruction : instructions) {
        block.end += instruction.length;
        if (tracer_.steps_in_software(instruction)) ++block.in_software;
    }
    source.instructions = instructions;
    source.plan = &block.plan;
    source.next = block.end;
    source.checked = memory != CodeMemory::fixed;
    source.counted = block.counted;
    const auto in_software = [&](const StaticInstruction& instruction) {
        return tracer_.steps_in_software(instruction);
    };
    const auto code_of = [&](std::uint64_t target) { return target == address ? block.code : known_code(target); };
    const WrittenBlock written = write_block(source, block.code, area_.layout(), in_software, code_of);
    area_.append(written.code);
    block.counted_at = written.counted_at;

    known_.boundaries.insert(known_.boundaries.end(), written.boundaries.begin(), written.boundaries.end());
    for (const auto& [stop, trap] : written.traps) {
        known_.traps[stop] = trap;
        if (!trap.patch) continue;
        if (trap.kind == Trap::Kind::untranslated) known_.waiting[trap.target].push_back(trap.patch);
        if (trap.kind == Trap::Kind::untranslated) successors.push_back(trap.target);
    }
    if (!instructions.empty() && instructions.back().call) {
        successors.push_back(block.end);
        return_sites.push_back(block.end);
    }
    if (const auto waiting = known_.waiting.find(address); waiting != known_.waiting.end()) {
        for (const std::uint64_t patch : waiting->second) area_.patch_jump(patch, block.code);
        known_.waiting.erase(waiting);
    }
    const std::uint64_t last_page = CodeWatch::page_of(std::max(block.end, address + 1) - 1);
    for (std::uint64_t page = CodeWatch::page_of(address); page <= last_page; page += CodeWatch::page_bytes)
        known_.blocks_in_page[page].push_back(source.number);
    known_.block_at[address] = source.number;
    known_.blocks.push_back(std::move(block));
    return {};
}

Result<> Translator::link(const Trap& trap) {
    if (trap.kind == Trap::Kind::stale && known_code(trap.target) == trap.patch) known_.block_at.erase(trap.target);
    auto code = TRY(code_for(trap.target));
    if (trap.kind == Trap::Kind::unknown_target) return area_.enter_in_table(trap.target, code);
    // Translating may have made it a jump already; it is the same jump.
    if (trap.patch) area_.patch_jump(trap.patch, code);
    return {};
}

#endif

}  // namespace tmaprobe::trace
