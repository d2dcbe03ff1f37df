#include "model/trace_file.h"

#include <zstd.h>

#include <algorithm>
#include <bit>

#include "base/file.h"
#include "model/trace_encoding.h"

namespace tmaprobe::model {
namespace {

constexpr std::uint32_t end_mark = 0xffffffff;
constexpr std::uint32_t longest_block = 64u << 20;
constexpr int bits_of_extent = 21;

tl::unexpected<Error> damaged(const std::string& name, const std::string& what) {
    return fail(ErrorCode::bad_input, name + " is damaged: " + what, "take the trace again");
}

/// Numbers and texts out of bytes; once there are too few, all that follows is 0 and `whole` false.
class Bytes {
  public:
    explicit Bytes(const std::vector<std::uint8_t>& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
    bool empty() const { return at_ == end_; }
    bool whole() const { return whole_; }

    std::uint8_t byte() {
        if (at_ == end_) {
            whole_ = false;
            return 0;
        }
        return *at_++;
    }
    std::uint64_t number() {
        constexpr unsigned last_shift = 63;
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift <= last_shift; shift += 7) {
            const std::uint8_t next = byte();
            number |= std::uint64_t{next & 127u} << shift;
            if (next < 128) return number;
        }
        whole_ = false;
        return 0;
    }
    std::uint64_t address(std::uint64_t before) {
        const std::uint64_t number = this->number();
        return number ? before + unfolded(number - 1) : 0;
    }
    std::string text() {
        const std::uint64_t length = number();
        if (length > static_cast<std::uint64_t>(end_ - at_)) {
            whole_ = false;
            return {};
        }
        const auto* begin = at_;
        at_ += length;
        return {begin, at_};
    }

  private:
    const std::uint8_t *at_, *end_;
    bool whole_ = true;
};

std::uint32_t word_at(const std::string& file, std::size_t at) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) word |= std::uint32_t{static_cast<std::uint8_t>(file[at + i])} << 8 * i;
    return word;
}

/// False: they make no sense.
bool read_mappings(Bytes& bytes, std::vector<std::vector<process::MemoryMapping>>& out) {
    const std::uint64_t count = bytes.number();
    for (std::uint64_t i = 0; i < count && bytes.whole(); ++i) {
        auto& mappings = out.emplace_back();
        const std::uint64_t lines = bytes.number();
        std::uint64_t end = 0;
        for (std::uint64_t j = 0; j < lines && bytes.whole(); ++j) {
            process::MemoryMapping& mapping = mappings.emplace_back();
            mapping.begin = end + bytes.number();
            mapping.end = mapping.begin + bytes.number();
            if (mapping.begin < end || mapping.end < mapping.begin) return false;
            end = mapping.end;
            mapping.offset = bytes.number();
            const std::uint8_t flags = bytes.byte();
            mapping.writable = flags & is_writable;
            mapping.executable = flags & is_executable;
            mapping.shared = flags & is_shared;
            mapping.inode = flags & is_of_file ? 1 : 0;
            mapping.deleted = flags & is_deleted;
            mapping.path = bytes.text();
        }
    }
    return bytes.whole();
}

/// Makes steps of entries, block by block.
class Showing {
  public:
    Showing(const std::string& name, trace::Decoder& decoder, TraceVisitor& visitor)
        : name_(name), decoder_(decoder), visitor_(visitor) {}

    Result<> block(const std::vector<std::uint8_t>& raw) {
        Bytes bytes(raw);
        while (!bytes.empty()) TRY(entry(bytes));
        return {};
    }
    Result<> end() const {
        if (in_window_) return damaged(name_, "its last window is not whole");
        return {};
    }

  private:
    Result<> entry(Bytes& bytes) {
        const std::uint8_t first = bytes.byte();
        if (first >= TraceEntry::repeats) {
            for (int i = 0; i < (first & 127); ++i) TRY(step(0, bytes));
            return {};
        }
        if (first < definition) return step(first, bytes);
        switch (first) {
            case definition:
                define(bytes);
                break;
            case told_page: {
                const std::uint64_t extent = bytes.number();
                const unsigned bits = bytes.byte();
                if (bits < bits_of_extent || bits > 40) return damaged(name_, "a page of no size that there is");
                pages_.add(extent << bits_of_extent, std::uint64_t{1} << bits);
                visitor_.pages(pages_);
                break;
            }
            case forget_pages:
                pages_ = {};
                visitor_.pages(pages_);
                break;
            case begin_moment:
                visitor_.moment(bytes.number());
                break;
            case begin_window:
                in_window_ = bytes.number();
                trace_.steps.clear();
                break;
            case enter_region:
            case leave_region:
                region_ = first == enter_region ? TraceFile::in_region : 0;
                break;
            default:
                return damaged(name_, "an entry of a kind that this version does not know");
        }
        if (!bytes.whole()) return damaged(name_, "an entry is cut short");
        return {};
    }

    void define(Bytes& bytes) {
        last_defined_ += unfolded(bytes.number());
        std::array<std::uint8_t, 16> code{};
        const std::size_t length = std::min<std::size_t>(bytes.byte(), code.size());
        for (std::size_t i = 0; i < length; ++i) code[i] = bytes.byte();
        trace_.instructions.push_back(decoder_.decode(code.data(), length, last_defined_));
        habits_.emplace_back();
    }

    Result<> step(std::uint8_t different, Bytes& bytes) {
        if (habits_.empty()) return damaged(name_, "a step before the first instruction");
        trace::Step step;
        const std::uint64_t number = different & other_instruction ? bytes.number() : habits_[before_].next;
        if (number >= habits_.size()) return damaged(name_, "a step of an instruction that is not there");
        step.instruction = static_cast<std::uint32_t>(number);
        Habit& habit = habits_[number];
        step.load = different & other_load ? bytes.address(habit.load) : habit.next_load();
        step.store = different & other_store ? bytes.address(habit.store) : habit.next_store();
        if (!bytes.whole()) return damaged(name_, "a step is cut short");
        habits_[before_].next = step.instruction;
        habit.learn(step.load, step.store);
        before_ = step.instruction;
        if (!in_window_) {
            visitor_.step(trace_.instructions[number], step);
            return {};
        }
        step.regions = region_;
        trace_.steps.push_back(step);
        return --in_window_ ? Result<>{} : visitor_.window(trace_);
    }

    const std::string& name_;
    trace::Decoder& decoder_;
    TraceVisitor& visitor_;
    trace::Trace trace_;  ///< all instructions, and the steps of the window at hand
    trace::PageMap pages_;
    std::vector<Habit> habits_;
    std::uint64_t last_defined_ = 0, in_window_ = 0;
    std::uint32_t before_ = 0, region_ = 0;
};

}  // namespace

Result<std::vector<std::uint8_t>> TraceFile::unpacked(const Block& block) const {
    std::vector<std::uint8_t> raw(block.raw_bytes);
    const std::size_t bytes = ZSTD_decompress(raw.data(), raw.size(), file_.data() + block.begin, block.bytes);
    if (ZSTD_isError(bytes) || bytes != raw.size()) return damaged(name_, "a block does not match its checksum");
    return raw;
}

Result<TraceFile> TraceFile::open(const std::string& path) {
    constexpr std::size_t largest = std::size_t{4} << 30;
    TraceFile trace;
    trace.name_ = path;
    trace.file_ = TRY(read_file(path, largest));
    const std::string& file = trace.file_;
    constexpr std::string_view any_version = "tmaprobe.trace/";
    trace.version_ = file.starts_with(trace_magic) ? 2 : file.starts_with(trace_magic_1) ? 1 : 0;
    if (!trace.version_) {
        if (file.starts_with(any_version))
            return fail(ErrorCode::bad_input, path + " is a trace of another version of tmaprobe",
                        "take it again with this one");
        return fail(ErrorCode::bad_input, path + " is no trace", "tmaprobe --save-trace FILE makes one");
    }
    std::size_t at = trace_magic.size();
    for (;;) {
        if (file.size() - at < 8) return damaged(path, "it is cut short");
        const std::uint32_t raw_bytes = word_at(file, at), bytes = word_at(file, at + 4);
        at += 8;
        if (raw_bytes == end_mark) break;
        if (raw_bytes > longest_block || bytes > file.size() - at) return damaged(path, "it is cut short");
        trace.blocks_.push_back({at, bytes, raw_bytes});
        at += bytes;
    }
    constexpr std::size_t least = 2;
    if (trace.blocks_.size() < least || at != file.size()) return damaged(path, "its end is not where it should be");
    TRY(trace.read_header(trace.blocks_.front()));
    TRY(trace.read_end(trace.blocks_.back()));
    trace.blocks_.erase(trace.blocks_.begin());
    trace.blocks_.pop_back();
    return trace;
}

Result<> TraceFile::read_header(const Block& block) {
    const auto raw = TRY(unpacked(block));
    Bytes bytes(raw);
    for (std::string* text : {&header_.architecture, &header_.cpu_id, &header_.workload, &header_.version})
        *text = bytes.text();
    if (!bytes.whole()) return damaged(name_, "its header is cut short");
    return {};
}

Result<> TraceFile::read_end(const Block& block) {
    const auto raw = TRY(unpacked(block));
    Bytes bytes(raw);
    weighted_ = bytes.byte() != 0;
    steps_ = bytes.number();
    windows_ = static_cast<std::uint32_t>(bytes.number());
    const std::uint64_t moments = bytes.number();
    for (std::uint64_t i = 0; i < moments && bytes.whole(); ++i) {
        TraceMoment& moment = moments_.emplace_back();
        moment.stands_for = std::bit_cast<double>(bytes.number());
        const std::uint64_t windows = bytes.number();
        for (std::uint64_t j = 0; j < windows && bytes.whole(); ++j)
            moment.windows.push_back(static_cast<std::uint32_t>(bytes.number()));
        const bool known = std::ranges::all_of(moment.windows, [&](std::uint32_t window) { return window < windows_; });
        if (!known || !(moment.stands_for >= 0)) return damaged(name_, "its list of windows makes no sense");
    }
    if (version_ > 1) {
        if (!read_mappings(bytes, mappings_)) return damaged(name_, "its mappings make no sense");
        for (TraceMoment& moment : moments_) {
            const std::uint64_t number = bytes.number();
            if (number > mappings_.size()) return damaged(name_, "its mappings make no sense");
            if (number) moment.mappings = static_cast<std::uint32_t>(number - 1);
        }
    }
    if (!bytes.whole()) return damaged(name_, "its list of windows is cut short");
    number_windows();
    return {};
}

/// What comes before a window to warm caches is of the same process: windows without a moment go with the next.
void TraceFile::number_windows() {
    of_windows_.assign(windows_, TraceMoment::no_mappings);
    for (const TraceMoment& moment : moments_)
        for (const std::uint32_t window : moment.windows) of_windows_[window] = moment.mappings;
    for (std::size_t window = of_windows_.size(); window-- > 1;)
        if (of_windows_[window - 1] == TraceMoment::no_mappings) of_windows_[window - 1] = of_windows_[window];
}

Result<> TraceFile::show(trace::Decoder& decoder, TraceVisitor& visitor) const {
    Showing showing(name_, decoder, visitor);
    for (const Block& block : blocks_) {
        const auto raw = TRY(unpacked(block));
        TRY(showing.block(raw));
    }
    return showing.end();
}

}  // namespace tmaprobe::model
