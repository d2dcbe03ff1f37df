#include "model/trace_writer.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace tmaprobe::model {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr int extent_bits = 21;  // pages of up to 2 MiB lie in one
constexpr std::uint64_t base_page = 4096;

void put_text(std::vector<std::uint8_t>& bytes, const std::string& text) {
    put_number(bytes, text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
}

void put_word(std::uint32_t word, std::uint8_t* to) {
    for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(word >> 8 * i);
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path, const TraceHeader& header) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (!file) return fail_errno(errno, "the trace " + path + " cannot be written");
    std::unique_ptr<TraceWriter> writer(new TraceWriter(file));
    writer->failed_ = std::fwrite(trace_magic.data(), 1, trace_magic.size(), file) != trace_magic.size();
    for (const std::string* text : {&header.architecture, &header.cpu_id, &header.workload, &header.version})
        put_text(writer->raw_, *text);
    writer->write_block();
    return writer;
}

void TraceWriter::pages(std::function<std::uint64_t(std::uint64_t)> page_bytes) {
    end_repeats();
    page_bytes_ = std::move(page_bytes);
    pages_.clear();
    last_extent_ = ~0ull;
    raw_.push_back(forget_pages);
}

void TraceWriter::moment(std::uint64_t resident_bytes) {
    end_repeats();
    raw_.push_back(begin_moment);
    put_number(raw_, resident_bytes);
}

void TraceWriter::note_page(std::uint64_t address) {
    const std::uint64_t extent = address >> extent_bits;
    if (extent == last_extent_ || !page_bytes_) return;
    last_extent_ = extent;
    const auto [page, fresh] = pages_.try_emplace(extent, 0);
    if (!fresh) return;
    page->second = page_bytes_(address);
    if (page->second <= base_page) return;
    end_repeats();
    raw_.push_back(told_page);
    put_number(raw_, extent);
    raw_.push_back(static_cast<std::uint8_t>(std::countr_zero(page->second)));
}

std::uint32_t TraceWriter::number_of(const trace::StaticInstruction& instruction, std::uint32_t called) {
    if (called_.size() <= called) called_.resize(called + 1);
    Called& known = called_[called];
    if (known.address == instruction.address && known.bytes == instruction.bytes) return known.number;
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    const auto [found, fresh] = numbers_.try_emplace({instruction.address, instruction.bytes}, next);
    known = {instruction.address, instruction.bytes, found->second};
    if (!fresh) return known.number;
    end_repeats();
    habits_.emplace_back();
    raw_.push_back(definition);
    put_number(raw_, folded(instruction.address - last_defined_));
    last_defined_ = instruction.address;
    raw_.push_back(instruction.length);
    raw_.insert(raw_.end(), instruction.bytes.begin(), instruction.bytes.begin() + instruction.length);
    return known.number;
}

void TraceWriter::put_address(std::uint64_t address, std::uint64_t before) {
    // 0 is for no address at all.
    if (!address) return put_number(raw_, 0);
    const std::uint64_t difference = folded(address - before);
    put_number(raw_, difference + 1 ? difference + 1 : 1);
}

void TraceWriter::step(const trace::StaticInstruction& instruction, const trace::Step& step) {
    note_page(instruction.address);
    if (step.load) note_page(step.load);
    if (step.store) note_page(step.store);
    const std::uint32_t number = number_of(instruction, step.instruction);
    ++steps_;
    Habit& habit = habits_[number];
    std::uint8_t different = 0;
    if (before_ >= habits_.size() || habits_[before_].next != number) different |= other_instruction;
    if (habit.next_load() != step.load) different |= other_load;
    if (habit.next_store() != step.store) different |= other_store;
    if (!different) {
        if (++repeats_ == most_repeats) end_repeats();
    } else {
        end_repeats();
        raw_.push_back(different);
        if (different & other_instruction) put_number(raw_, number);
        if (different & other_load) put_address(step.load, habit.load);
        if (different & other_store) put_address(step.store, habit.store);
    }
    habits_[before_].next = number;
    habit.learn(step.load, step.store);
    before_ = number;
    flush_if_full();
}

std::uint32_t TraceWriter::window(const trace::Trace& trace, const std::function<bool(std::uint32_t path)>& inside) {
    end_repeats();
    raw_.push_back(begin_window);
    put_number(raw_, trace.steps.size());
    for (const trace::Step& each : trace.steps) {
        if (const bool in_region = inside && inside(each.regions); in_region != in_region_) {
            end_repeats();
            raw_.push_back(in_region ? enter_region : leave_region);
            in_region_ = in_region;
        }
        step(trace.instructions[each.instruction], each);
    }
    end_repeats();
    return windows_++;
}

void TraceWriter::end_repeats() {
    if (!repeats_) return;
    raw_.push_back(static_cast<std::uint8_t>(TraceEntry::repeats | repeats_));
    repeats_ = 0;
}

void TraceWriter::flush_if_full() {
    if (raw_.size() < block_bytes) return;
    end_repeats();
    write_block();
}

void TraceWriter::write_block() {
    constexpr int level = 3;
    std::vector<std::uint8_t> packed(8 + ZSTD_compressBound(raw_.size()));
    const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    const std::size_t bytes =
        ZSTD_compress2(context.get(), packed.data() + 8, packed.size() - 8, raw_.data(), raw_.size());
    if (ZSTD_isError(bytes)) {
        failed_ = true;
    } else {
        put_word(static_cast<std::uint32_t>(raw_.size()), packed.data());
        put_word(static_cast<std::uint32_t>(bytes), packed.data() + 4);
        failed_ |= std::fwrite(packed.data(), 1, 8 + bytes, file_.get()) != 8 + bytes;
    }
    raw_.clear();
}

void TraceWriter::put_mappings(const std::vector<process::MemoryMapping>& mappings) {
    put_number(raw_, mappings.size());
    std::uint64_t end = 0;
    for (const process::MemoryMapping& mapping : mappings) {
        put_number(raw_, mapping.begin - end);
        put_number(raw_, mapping.end - mapping.begin);
        end = mapping.end;
        put_number(raw_, mapping.offset);
        raw_.push_back(static_cast<std::uint8_t>(
            (mapping.writable ? is_writable : 0) | (mapping.executable ? is_executable : 0) |
            (mapping.shared ? is_shared : 0) | (mapping.inode ? is_of_file : 0) | (mapping.deleted ? is_deleted : 0)));
        put_text(raw_, mapping.path);
    }
}

Result<> TraceWriter::finish(const std::vector<TraceMoment>& moments, bool weighted,
                             const std::vector<std::vector<process::MemoryMapping>>& mappings) {
    end_repeats();
    write_block();
    raw_.push_back(weighted ? 1 : 0);
    put_number(raw_, steps_);
    put_number(raw_, windows_);
    put_number(raw_, moments.size());
    for (const TraceMoment& moment : moments) {
        put_number(raw_, std::bit_cast<std::uint64_t>(moment.stands_for));
        put_number(raw_, moment.windows.size());
        for (const std::uint32_t window : moment.windows) put_number(raw_, window);
    }
    put_number(raw_, mappings.size());
    for (const auto& of_process : mappings) put_mappings(of_process);
    for (const TraceMoment& moment : moments)
        put_number(raw_, moment.mappings == TraceMoment::no_mappings ? 0 : std::uint64_t{moment.mappings} + 1);
    write_block();
    // No block is that long: here is the end.
    const std::uint8_t end[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    failed_ |= std::fwrite(end, 1, sizeof end, file_.get()) != sizeof end;
    failed_ |= std::fflush(file_.get()) != 0;
    if (failed_) return fail(ErrorCode::system, "the trace could not be written", "is the disk full?");
    return {};
}

Result<std::unique_ptr<TraceWriter>> trace_writer(const TraceWish& wish) {
    if (wish.file.empty()) return nullptr;
    return TraceWriter::create(wish.file, {wish.architecture, wish.cpu_id, wish.workload, TMAPROBE_VERSION});
}

namespace {

/// Where the trace has them; without those that it never met.
std::vector<process::MemoryMapping> as_traced(const std::vector<process::MemoryMapping>& mappings,
                                              const OwnAddresses& addresses) {
    if (addresses.empty()) return mappings;
    std::vector<process::MemoryMapping> own;
    for (process::MemoryMapping mapping : mappings) {
        const std::uint64_t begin = addresses.own_if_met(mapping.begin);
        if (!begin) continue;
        mapping.end = begin + (mapping.end - mapping.begin);
        mapping.begin = begin;
        own.push_back(std::move(mapping));
    }
    std::ranges::sort(own, {}, &process::MemoryMapping::begin);
    return own;
}

}  // namespace

std::string finish_trace(TraceWriter* writer, const std::vector<WindowFacts>& windows, bool weighted,
                         const OwnAddresses& addresses) {
    if (!writer) return {};
    std::vector<TraceMoment> moments;
    std::vector<std::vector<process::MemoryMapping>> known;
    for (const WindowFacts& window : windows) {
        if (window.logged.empty()) continue;
        TraceMoment& moment = moments.emplace_back(TraceMoment{weighted ? window.native_ns : 1, window.logged});
        if (window.mappings.empty()) continue;
        auto mappings = as_traced(window.mappings, addresses);
        auto same = std::ranges::find(known, mappings);
        if (same == known.end()) same = known.insert(known.end(), std::move(mappings));
        moment.mappings = static_cast<std::uint32_t>(same - known.begin());
    }
    const auto done = writer->finish(moments, weighted, known);
    return done ? "" : done.error().what;
}

}  // namespace tmaprobe::model
