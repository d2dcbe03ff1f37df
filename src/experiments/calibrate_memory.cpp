#include "experiments/calibrate_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/sizes.h"
#include "base/statistics.h"
#include "experiments/shared_level.h"
#include "memory/limits.h"
#include "memory/pages.h"
#include "timing/effective_pages.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::uint64_t page_bytes = 4 * kib;
constexpr double line_bytes = 64;
constexpr double ns_of_ms = 1e6;
constexpr int loads_of_programs = 8;  ///< at a time
constexpr std::uint64_t largest_block = 1024 * mib;

std::uint64_t cache_bytes(const machine::Host& host, int level) {
    for (const machine::Cache& cache : host.caches)
        if (cache.level == level && cache.kind != "instruction") return cache.size_bytes;
    return 0;
}

class MemoryCalibration {
  public:
    MemoryCalibration(ClockReader& reader, const machine::Host& host) : reader_(reader), host_(host) {
        const auto mode = memory::parse_page_mode("thp");
        if (!mode) return;
        large_ = *mode;
        measure_large_pages();
    }

    /// measure_large_pages() and measure_share() alone, with a smaller block beyond it.
    Result<std::vector<record::CalibratedFact>> here() {
        constexpr std::uint64_t beyond = 192 * mib;
        const std::uint64_t l2 = cache_bytes(host_, 2), l3 = cache_bytes(host_, 3);
        if (l3 > 4 * l2 && fitting() > 2 * beyond) TRY(measure_share(3 * l2, l2 + l3, beyond));
        std::vector<record::CalibratedFact> found;
        for (const char* const name : {"size.l3", "given.l3", "beyond.l3", "others.l3", "translation.large_page_walk"})
            if (const record::CalibratedFact* const fact = usable(name)) found.push_back(*fact);
        return found;
    }

    Result<> measure(const OnProgress& on_progress) {
        const auto say = [&](const char* what) {
            if (on_progress) on_progress({what, 1, {}, ProgressOf::step});
        };
        const std::uint64_t l1 = cache_bytes(host_, 1), l2 = cache_bytes(host_, 2), l3 = cache_bytes(host_, 3);
        say("translation");
        TRY(measure_translation(l2));
        say("caches");
        // A quarter: of half of it some pages compete for sets already, which the model has, too.
        if (l2 > 4 * l1) TRY(measure_cache("load.l2", "lines.l2", std::min(l2 / 2, std::max(l2 / 4, 4 * l1))));
        if (l3 > 4 * l2) {
            TRY(measure_cache("load.l3", "lines.l3", 3 * l2));
            TRY(measure_share(3 * l2, l2 + l3, largest_block));
        }
        say("memory");
        return measure_main_memory(share_ > 0 ? share_ : std::max(l2, l3));
    }

  private:
    /// Whether the hypervisor splits large pages, and what a walk in one takes then: in several places in memory, since
    /// it may split some and others not.
    void measure_large_pages() {
        constexpr std::size_t places = 4;
        std::vector<memory::Buffer> taken;  // memory that was measured, so that the next time other memory is
        std::vector<double> shares;
        std::size_t split = 0;
        while (shares.size() < places) {
            const auto found = timing::effective_pages(host_, large_, std::nullopt);
            const bool is_split = found.name == "4k";
            if (found.name.empty() || (!is_split && shares.empty())) break;
            split += is_split;
            shares.push_back(found.kept_share);
            auto same = memory::Buffer::allocate(timing::effective_pages_bytes(host_), large_, std::nullopt);
            if (!same) break;
            taken.push_back(std::move(*same));
        }
        split_ = 2 * split > shares.size();
        if (!split_) return;
        const auto [low, high] = std::ranges::minmax(shares);
        reader_.add({"translation.large_page_walk", "share", median(shares), low, high,
                     static_cast<std::int64_t>(shares.size()), 0, ""});
    }

    Result<> measure_translation(std::uint64_t l2) {
        constexpr std::uint64_t few = 256, many = 8192;
        const auto dense = TRY(reader_.chase("load.few_lines", "random", 16 * kib, {}));
        const auto scattered = TRY(reader_.chase("translation.l2_hit", "tlb", few * page_bytes, {}));
        reader_.add(difference("translation.l2_hit", scattered, dense, 1, 1));
        if (many * 64 > l2 / 2) return {};
        const auto lines = TRY(reader_.chase("load.many_lines", "random", many * 64, large_));
        const auto walked = TRY(reader_.chase("translation.walk", "tlb", many * page_bytes, {}));
        reader_.add(difference("translation.walk", walked, lines, 1, 1));
        reader_.add(TRY(reader_.chase("translation.walk_beside", "tlb", many * page_bytes, {}, "cycles", cycles,
                                      loads_of_programs)));
        return {};
    }

    /// A fact that was found and may be used; nullptr: none.
    const record::CalibratedFact* usable(const char* name) const { return record::usable_fact(reader_.facts, name); }

    /// One load of a chain in any order through the block. Where the hypervisor splits large pages, what finding the
    /// addresses takes is taken off: the second TLB's time of loads whose page the first does not have, and a page
    /// walk's of those that neither has.
    Result<record::CalibratedFact> load(const char* name, std::uint64_t bytes, const char* unit, Convert convert) {
        auto fact = TRY(reader_.chase(name, "random", bytes, large_, unit, convert));
        if (!split_) return fact;
        const double pages = static_cast<double>(bytes) / page_bytes;
        const double walks = std::max(0.0, 1 - small_pages_held(2, host_) / pages);
        const double hits = std::max(0.0, 1 - small_pages_held(1, host_) / pages) - walks;
        const auto take_off = [&](const char* what, double share) -> bool {
            const record::CalibratedFact* const part = usable(what);
            if (!part) return share <= 0;
            record::CalibratedFact in_unit = *part;
            if (convert == nanoseconds)
                for (double* value : {&in_unit.value, &in_unit.low, &in_unit.high})
                    *value *= 1e9 / reader_.clock_hz.back();
            fact = difference(name, fact, in_unit, share, 1);
            return true;
        };
        if (!take_off("translation.l2_hit", hits) || !take_off("translation.walk", walks))
            fact.reason = "huge pages are split by the hypervisor: translations are in it";
        return fact;
    }

    Result<> measure_cache(const char* latency, const char* lines, std::uint64_t bytes) {
        reader_.add(TRY(load(latency, bytes, "cycles", cycles)));
        reader_.add(TRY(reader_.stream(lines, bytes, large_, "cycles", cycles, line_bytes)));
        return {};
    }

    /// The largest block that second and third level hold together: a host may give a virtual machine few ways of the
    /// third. Blocks of growing size are read in any order until a load takes nearer to as long as from memory. Eight
    /// loads at a time, as programs have them: whoever asks seldom keeps less beside neighbours that ask often, and
    /// how much changes from one second to the next. `largest`: of the blocks.
    Result<> measure_share(std::uint64_t held, std::uint64_t all, std::uint64_t largest) {
        constexpr double told_apart = 2;  // times as long from memory
        const std::uint64_t most = std::min({all / 2, largest / 2, fitting()});
        const auto near = TRY(loads_at_once(held)), far = TRY(loads_at_once(std::min({4 * all, largest, fitting()})));
        if (near.value <= 0 || far.value < told_apart * near.value) return {};
        const double beyond = std::sqrt(near.value * far.value);
        // Where another line makes room than the one that was used longest ago, the model has no use for it.
        if (host_.last_level_least_recent && TRY(measure_others(held, std::min(all, largest), beyond / near.value)))
            return {};
        std::uint64_t displaced = 0;
        record::CalibratedFact fact;
        const auto look = [&](std::uint64_t bytes) -> Result<> {
            fact = TRY(loads_at_once(bytes));
            if (fact.value <= beyond)
                held = bytes;
            else
                displaced = bytes;
            return {};
        };
        while (!displaced && held * 3 / 2 <= most) TRY(look(held + held / 2 / page_bytes * page_bytes));
        if (displaced) {
            TRY(look((held + displaced) / 2 / page_bytes * page_bytes));
            add_share(held, displaced, fact);
        }
        return {};
    }

    void add_share(std::uint64_t held, std::uint64_t displaced, const record::CalibratedFact& last) {
        record::CalibratedFact share{"size.l3", "bytes", 0, 0, 0, last.clean, last.disturbed, {}};
        share.low = static_cast<double>(held);
        share.high = static_cast<double>(displaced);
        share.value = std::round(std::sqrt(share.low * share.high));
        if (last.clean == 0) share.reason = "a neighbour was busy: what it takes is in it";
        share_ = static_cast<std::uint64_t>(share.value);
        reader_.add(std::move(share));
    }

    /// `held`: bytes that the third level holds for certain; `beyond`: times what a load of those takes. Whether others
    /// were found to fill it.
    Result<bool> measure_others(std::uint64_t held, std::uint64_t all, double beyond) {
        const auto found =
            TRY(measure_shared_level({cache_bytes(host_, 2), all, held, large_, beyond, reader_.interrupted()}, host_));
        if (!found) return false;
        constexpr std::int64_t tries = 3;
        reader_.add({"given.l3", "bytes", std::round(found->held), found->held_low, found->held_high, tries, 0, ""});
        reader_.add({"beyond.l3", "ns", found->beyond_ns, found->beyond_ns, found->beyond_ns, tries, 0, ""});
        record::CalibratedFact others{"others.l3", "ms", 0, 0, 0, 0, 0, ""};
        for (const double ns : found->others_fill_ns) add_reading(ns / ns_of_ms, others);
        reader_.add(std::move(others));
        share_ = static_cast<std::uint64_t>(found->held);
        return true;
    }

    Result<record::CalibratedFact> loads_at_once(std::uint64_t bytes) {
        return reader_.chase("size.l3", "random", bytes, large_, "cycles", cycles, loads_of_programs);
    }

    /// Bytes that a block may have here.
    std::uint64_t fitting() const {
        const auto available = memory::available_memory({}, std::nullopt);
        return available ? available->bytes / 2 : largest_block;
    }

    Result<> measure_main_memory(std::uint64_t last_cache) {
        constexpr std::uint64_t least = 256 * mib, most = largest_block;
        const std::uint64_t many_times = 4 * last_cache / page_bytes * page_bytes;
        const std::uint64_t wanted = share_ > 0 ? many_times : std::max(least, many_times);
        const std::uint64_t bytes = std::min(most, wanted);
        if (fitting() < bytes) {
            reader_.left_out.push_back(fmt::format("memory: a block of {} MiB does not fit", bytes / mib));
            return {};
        }
        auto latency = TRY(load("memory.latency", bytes, "ns", nanoseconds));
        auto bandwidth = TRY(reader_.stream("memory.bandwidth", std::min(most, std::max(least, wanted)), large_,
                                            "bytes per second", per_second, 1));
        for (auto* fact : {&latency, &bandwidth}) {
            if (fact->reason.empty() && bytes < wanted)
                fact->reason = fmt::format("a third-level cache of {} MiB may hold part of the {} MiB block",
                                           last_cache / mib, bytes / mib);
            reader_.add(std::move(*fact));
        }
        return {};
    }

    ClockReader& reader_;
    const machine::Host& host_;
    memory::PageMode large_;
    bool split_ = false;       ///< huge pages have small entries in the TLBs
    std::uint64_t share_ = 0;  ///< of the caches; 0: nothing says that it is not all
};

}  // namespace

Result<> calibrate_memory(ClockReader& reader, const machine::Host& host, const OnProgress& on_progress) {
    return MemoryCalibration(reader, host).measure(on_progress);
}

Result<std::vector<record::CalibratedFact>> memory_facts_here(ClockReader& reader, const machine::Host& host) {
    return MemoryCalibration(reader, host).here();
}

Result<bool> read_others_again(const machine::Host& host, const std::function<bool()>& interrupted,
                               std::vector<record::CalibratedFact>& facts) {
    const auto others = std::ranges::find(facts, "others.l3", &record::CalibratedFact::name);
    const auto* const given = record::usable_fact(facts, "given.l3");
    const auto* const beyond = record::usable_fact(facts, "beyond.l3");
    if (others == facts.end() || !given || !beyond) return false;
    SharedLevelRequest request;
    request.second_level = cache_bytes(host, 2);
    request.pages = TRY(memory::parse_page_mode("thp"));
    request.interrupted = interrupted;
    const auto reading = TRY(measure_others_fill(request, given->value, beyond->value, host));
    if (reading) add_reading(*reading / ns_of_ms, *others);
    return reading.has_value();
}

double small_pages_held(int level, const machine::Host& host) {
    for (const machine::Tlb& tlb : host.tlbs)
        if (tlb.level == level && tlb.page_bytes == page_bytes && tlb.entries > 0 &&
            (tlb.kind == "data" || tlb.kind == "unified"))
            return tlb.entries;
    constexpr double usual[] = {64, 1024};
    return usual[level > 1];
}

}  // namespace tmaprobe::experiments
