#include "process/region_page.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/utf8.h"
#include "process/held_command.h"

#define TMAPROBE_REGION_LAYOUT_ONLY
#include <tmaprobe/region.h>

namespace tmaprobe::process {
namespace {

namespace fs = std::filesystem;

std::uint64_t ticks_now() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    std::uint64_t ticks = 0;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

bool read_at(int file, std::uint64_t offset, void* to, std::size_t bytes) {
    return ::pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

/// Names and contents of notes begin at multiples of four bytes.
std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

bool has_note(int file, const Elf64_Phdr& segment) {
    constexpr std::string_view owner("tmaprobe", 9);  // with the 0 at its end
    constexpr std::uint64_t most_bytes = 1 << 16;
    if (segment.p_type != PT_NOTE || segment.p_filesz > most_bytes) return false;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) + owner.size() <= segment.p_filesz;) {
        Elf64_Nhdr note{};
        char name[owner.size()];
        if (!read_at(file, segment.p_offset + at, &note, sizeof note) ||
            !read_at(file, segment.p_offset + at + sizeof note, name, sizeof name))
            return false;
        if (note.n_namesz == owner.size() && std::string_view(name, sizeof name) == owner) return true;
        at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    }
    return false;
}

}  // namespace

std::string program_file(const std::string& program) {
    if (program.find('/') != std::string::npos) return program;
    const char* const path = std::getenv("PATH");
    const std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const std::string folder = folders.substr(begin, end - begin);
        const std::string file = (folder.empty() ? "." : folder) + "/" + program;
        if (::access(file.c_str(), X_OK) == 0) return file;
        begin = end + 1;
    }
    return program;
}

bool has_region_marks(const std::string& program) {
    const Fd file(::open(program_file(program).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    Elf64_Ehdr header{};
    if (!file || !read_at(file.get(), 0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!read_at(file.get(), header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
        if (has_note(file.get(), segment)) return true;
    }
    return false;
}

Result<RegionPage> RegionPage::create() {
    RegionPage made;
    std::error_code none;
    // In memory, if it can be had.
    const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path(none).string();
    std::string path = (folder.empty() ? "/tmp" : folder) + "/tmaprobe-regions-XXXXXX";
    const Fd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file) return fail_errno(errno, "cannot make a file for regions (" + path + ")");
    made.path_ = std::move(path);
    if (::ftruncate(file.get(), sizeof(tmaprobe_region_page_v1)) != 0)
        return fail_errno(errno, "cannot make room for regions in " + made.path_);
    void* const mapped =
        ::mmap(nullptr, sizeof(tmaprobe_region_page_v1), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return fail_errno(errno, "cannot map " + made.path_);
    made.page_ = static_cast<tmaprobe_region_page_v1*>(mapped);
    made.page_->size = sizeof(tmaprobe_region_page_v1);
    made.page_->magic = TMAPROBE_REGION_MAGIC;
    made.begun_ns_ = now_ns();
    made.begun_ticks_ = ticks_now();
    return made;
}

RegionPage::RegionPage(RegionPage&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      page_(std::exchange(other.page_, nullptr)),
      begun_ticks_(other.begun_ticks_),
      begun_ns_(other.begun_ns_) {}

RegionPage::~RegionPage() {
    if (page_) ::munmap(page_, sizeof(tmaprobe_region_page_v1));
    if (!path_.empty()) ::unlink(path_.c_str());
}

void RegionPage::leave_out_times() { __atomic_store_n(&page_->no_time, 1u, __ATOMIC_RELAXED); }

std::vector<std::pair<std::uint64_t, std::uint64_t>> RegionPage::code_of_marks() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> code;
    for (const auto& one : page_->codes)
        if (const std::uint64_t end = __atomic_load_n(&one.end, __ATOMIC_ACQUIRE); end > one.begin)
            code.emplace_back(one.begin, end);
    return code;
}

std::vector<std::string> RegionPage::names() const {
    std::vector<std::string> names;
    for (const auto& entry : page_->names) {
        if (__atomic_load_n(&entry.state, __ATOMIC_ACQUIRE) != 2) break;
        names.push_back(valid_utf8(std::string(entry.name, ::strnlen(entry.name, sizeof entry.name))));
    }
    return names;
}

double RegionPage::ns_per_tick() const {
    const std::uint64_t ticks = ticks_now() - begun_ticks_, ns = now_ns() - begun_ns_;
    return ticks ? static_cast<double>(ns) / static_cast<double>(ticks) : 0;
}

std::vector<RegionCounts> RegionPage::counts() const {
    const double ns = ns_per_tick();
    const std::uint64_t now = ticks_now();
    const auto time_of = [&](std::uint64_t ticks) {
        return static_cast<double>(static_cast<std::int64_t>(ticks)) * ns;
    };
    std::vector<RegionCounts> all;
    for (const auto& slot : page_->slots) {
        if (!__atomic_load_n(&slot.owner, __ATOMIC_ACQUIRE)) break;
        for (std::uint32_t region = 0; region < TMAPROBE_REGION_NAMES; ++region) {
            const tmaprobe_region_record_v1& one = slot.records[region];
            if (!one.begins && !one.wrong_ends && !one.depth) continue;
            all.push_back({region, slot.owner, one.begins, one.iterations, one.bytes, time_of(one.ticks),
                           time_of(one.inner_ticks), one.inside, one.depth, one.wrong_ends, one.not_ended,
                           one.depth ? time_of(now - one.open_since) : 0});
        }
    }
    return all;
}

std::size_t RegionPage::most_events() { return TMAPROBE_REGION_EVENTS; }

void RegionPage::count(const std::vector<CountedEvent>& events, bool from_user_space) {
    const std::size_t count = std::min(events.size(), most_events());
    for (std::size_t i = 0; i < count; ++i) {
        auto& event = page_->events[i];
        event.leader = static_cast<std::uint32_t>(events[i].leader);
        std::memcpy(event.attributes, events[i].attributes.data(),
                    std::min(events[i].attributes.size(), sizeof event.attributes));
    }
    page_->from_user_space = from_user_space;
    page_->seccomp = ::prctl(PR_GET_SECCOMP) > 0;
    __atomic_store_n(&page_->event_count, static_cast<std::uint32_t>(count), __ATOMIC_RELEASE);
}

namespace {

void add(const tmaprobe_region_page_v1& page, std::uint32_t number, RegionSums& sum) {
    if (number == 0 || number > TMAPROBE_REGION_SUMS) return;
    const tmaprobe_region_sums_v1& one = page.sums[number - 1];
    sum.enabled_ns += one.enabled_ns;
    sum.pieces += one.pieces;
    sum.own_ns += one.own_ns;
    sum.own_pieces += one.own_pieces;
    sum.empty_ns += one.empty_ns;
    sum.empty_pieces += one.empty_pieces;
    for (std::size_t event = 0; event < sum.events.size(); ++event) {
        sum.events[event].value += one.events[event].value;
        sum.events[event].running_ns += one.events[event].running_ns;
        sum.events[event].pieces += one.events[event].pieces;
        sum.events[event].empty += one.events[event].empty;
        sum.events[event].empty_pieces += one.events[event].empty_pieces;
    }
}

}  // namespace

CountedRegions RegionPage::counted() const {
    CountedRegions all;
    const std::size_t events = page_->event_count;
    if (events == 0) return all;
    RegionSums none;
    none.events.resize(events);
    all.regions.assign(names().size(), none);
    for (const auto& slot : page_->slots) {
        if (!__atomic_load_n(&slot.owner, __ATOMIC_ACQUIRE)) break;
        for (std::size_t region = 0; region < all.regions.size(); ++region)
            add(*page_, slot.records[region].sums, all.regions[region]);
        all.marks_ns += slot.marks_ns;
        all.unread += slot.unread;
    }
    for (std::size_t event = 0; event < events; ++event)
        all.refused.push_back(static_cast<int>(page_->events[event].refused));
    all.threads = page_->threads_counted;
    all.threads_refused = page_->threads_refused;
    all.failed = page_->readings_failed;
    all.left_out = page_->no_room_for_sums;
    return all;
}

RegionPage::LeftOut RegionPage::left_out() const {
    LeftOut all{0, 0, page_->no_room_for};
    for (const auto& slot : page_->slots) {
        if (!slot.owner) break;
        all.regions += slot.too_many;
        all.depth += slot.too_deep;
    }
    return all;
}

EnvironmentVariable::EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
}

EnvironmentVariable::~EnvironmentVariable() { ::unsetenv(name_); }

}  // namespace tmaprobe::process
