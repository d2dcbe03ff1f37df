#include "model/sum_of_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "model/core_error.h"

namespace tmaprobe::model {
namespace {

/// Moments that execute the same code.
struct KindOfMoments {
    std::vector<const WindowFacts*> moments;
    double native_ns = 0;
    int drawn = 1;  ///< at a time
};

std::vector<KindOfMoments> kinds_among(const std::vector<WindowFacts>& windows) {
    std::map<std::uint32_t, KindOfMoments> by_number;
    for (const WindowFacts& window : windows) {
        by_number[window.kind].moments.push_back(&window);
        by_number[window.kind].native_ns += window.native_ns;
    }
    std::vector<KindOfMoments> kinds;
    for (auto& [number, kind] : by_number) {
        double squares = 0;
        for (const WindowFacts* moment : kind.moments) squares += moment->native_ns * moment->native_ns;
        const double like_so_many = squares > 0 ? kind.native_ns * kind.native_ns / squares : 1;
        // Three fewer than there are: how far few moments are apart is known badly from them alone (the variance of
        // Student's t is larger than that of a normal one by n - 1 over n - 3).
        kind.drawn = std::max(1, static_cast<int>(like_so_many + 0.5) - 3);
        kinds.push_back(std::move(kind));
    }
    return kinds;
}

/// One moment of a kind, each as likely as the time that it stands for is long.
const Facts& draw_of(const KindOfMoments& kind, Random& random) {
    const std::size_t chosen =
        random.pick(kind.moments.size(), kind.native_ns, [&](std::size_t i) { return kind.moments[i]->native_ns; });
    // Of a few moments one is drawn, and of it one window: where nothing else tells how far moments are apart, they are
    // at least as far as what lies close together.
    const auto& parts = kind.moments[chosen]->parts;
    return kind.drawn == 1 && !parts.empty() ? parts[random.below(parts.size())] : kind.moments[chosen]->base;
}

/// What the kinds' shares of the time would have been, had others of as many looks been taken. Code that no window has
/// may be like that of any kind.
std::vector<double> draw_shares(const std::vector<KindOfMoments>& kinds, const LookedAt& looked_at, Random& random) {
    double all_ns = 0;
    for (const KindOfMoments& kind : kinds) all_ns += kind.native_ns;
    std::vector<double> shares;
    const auto looks = static_cast<std::uint64_t>(looked_at.looks);
    if (looks == 0 || kinds.size() == 1) {
        for (const KindOfMoments& kind : kinds) shares.push_back(kind.native_ns / all_ns);
    } else {
        shares.resize(kinds.size());
        for (std::uint64_t look = 0; look < looks; ++look) {
            const std::size_t chosen =
                random.pick(kinds.size(), all_ns, [&](std::size_t i) { return kinds[i].native_ns; });
            shares[chosen] += 1 / looked_at.looks;
        }
    }
    for (double& share : shares) share *= 1 - looked_at.unmet;
    shares[random.below(shares.size())] += looked_at.unmet;
    return shares;
}

/// Adds what the windows would have given, had other moments of the command been met: of each kind some are drawn from
/// those that there are, and again and again, each time of another core among those that it may be.
void draw_moments(const std::vector<WindowFacts>& windows, const LookedAt& looked_at,
                  const events::CoreError& core_error, Modelled& modelled) {
    constexpr int times = 40;  // they span about two standard errors either way
    const auto kinds = kinds_among(windows);
    Random random(1), cores(2);
    for (int time = 0; time < times; ++time) {
        Facts facts;
        const std::vector<double> shares = draw_shares(kinds, looked_at, random);
        for (std::size_t number = 0; number < kinds.size(); ++number) {
            const KindOfMoments& kind = kinds[number];
            for (int moment = 0; moment < kind.drawn; ++moment) {
                const Facts& met = draw_of(kind, random);
                if (const double cycles = cycles_of(met); cycles > 0)
                    add(facts, met, shares[number] / kind.drawn / cycles);
            }
        }
        modelled.variations.push_back(
            {record::Variation::drawn_moments, with_core_error(facts, core_error, draw_core(cores)), {}});
    }
}

}  // namespace

Result<std::optional<trace::PageMap>> assumed_pages(const ModelOptions& options) {
    if (options.assume_pages.empty()) return std::nullopt;
    auto bytes = TRY(trace::parse_assumed_pages(options.assume_pages));
    return trace::PageMap::uniform(bytes);
}

double like_so_many_moments(const std::vector<WindowFacts>& windows) {
    double all = 0, squares = 0;
    for (const WindowFacts& window : windows) {
        all += window.native_ns;
        squares += window.native_ns * window.native_ns;
    }
    return squares > 0 ? all * all / squares : static_cast<double>(windows.size());
}

void sum_up(std::vector<WindowFacts>& windows, bool weighted, const ModelledCpu& cpu, Modelled& modelled,
            const LookedAt& looked_at) {
    double all_cycles = 0, all_native = 0;
    for (WindowFacts& window : windows) {
        modelled.windows.push_back({cycles_of(window.base), window.base["instructions"], window.native_ns, 1});
        all_cycles += cycles_of(window.base);
        all_native += window.native_ns;
    }
    const auto weight = [&](const WindowFacts& window) {
        if (!weighted || all_native <= 0 || cycles_of(window.base) <= 0) return 1.0;
        return window.native_ns / all_native * all_cycles / cycles_of(window.base);
    };
    for (std::size_t i = 0; i < windows.size(); ++i) modelled.windows[i].weight = weight(windows[i]);
    std::map<record::Variation, Facts> varied;
    for (const WindowFacts& window : windows) {
        add(modelled.facts, window.base, weight(window));
        if (!weighted) modelled.variations.push_back({record::Variation::window, window.base, {}});
        for (const auto& variation : window.variations) add(varied[variation.what], variation.facts, weight(window));
    }
    // A kernel repeats itself, so its windows differ by chance; a command's differ because it does, and what is by
    // chance is only which of its moments they met.
    const bool differs = windows.size() > 1 || (windows.size() == 1 && windows.front().parts.size() > 1);
    if (weighted && differs && all_native > 0) draw_moments(windows, looked_at, cpu.core_error, modelled);
    // A window that cannot tell the variations apart is the same in each.
    for (const WindowFacts& window : windows)
        for (auto& [what, facts] : varied)
            if (std::none_of(window.variations.begin(), window.variations.end(),
                             [&](const auto& one) { return one.what == what; }))
                add(facts, window.base, weight(window));
    for (auto& [what, facts] : varied) modelled.variations.push_back({what, std::move(facts), {}});
    for (FactVariation& variation : core_variations(modelled.facts, cpu.core_error))
        modelled.variations.push_back(std::move(variation));
    modelled.modelled_ns = all_cycles / cpu.frequency_hz * 1e9;
}

counters::SlotAttribution attribution_of(std::vector<WindowFacts>& windows, bool weighted, const ModelledCpu& cpu,
                                         const Modelled& modelled) {
    counters::SlotAttribution attribution;
    attribution.slot_width = cpu.core.slot_width;
    attribution.windows_differ = weighted;
    auto& known = attribution.mappings;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        WindowFacts& window = windows[i];
        auto code = process::code_of(window.mappings);
        const auto same = std::find(known.begin(), known.end(), code);
        const auto mappings = static_cast<std::size_t>(same - known.begin());
        if (same == known.end()) known.push_back(std::move(code));
        attribution.windows.push_back({window.process,
                                       mappings,
                                       modelled.windows[i].weight,
                                       std::move(window.slots),
                                       std::move(window.events),
                                       {},
                                       std::move(window.runs),
                                       std::move(window.accesses),
                                       std::move(window.mappings),
                                       std::move(window.loop),
                                       std::move(window.calls),
                                       std::move(window.stack),
                                       std::move(window.blocks)});
        for (auto& [what, facts, slots, accesses, regions] : window.variations)
            attribution.windows.back().variations.push_back({what, std::move(slots), std::move(accesses)});
    }
    return attribution;
}

void add_trace_warning(const std::string& problem, Modelled& modelled) {
    if (!problem.empty()) modelled.warnings.push_back({"trace_not_saved", "no trace was saved: " + problem, ""});
}

void add_model_warnings(const std::map<std::string, std::size_t>& known_wrong, bool pages_partly_known,
                        Modelled& modelled) {
    auto& warnings = modelled.warnings;
    const auto& traced = modelled.traced;
    if (traced.undecodable)
        warnings.push_back(
            {"model_undecodable",
             fmt::format("{} windows ended at an instruction that LLVM does not know", traced.undecodable), ""});
    if (const double unmodelled = modelled.facts["unmodelled"]; unmodelled > 0)
        warnings.push_back(
            {"model_unmodelled",
             fmt::format("LLVM's model does not know {:.2f}% of the executed instructions; they count as nothing",
                         100 * unmodelled / std::max(1.0, modelled.facts["instructions"])),
             ""});
    for (const auto& [what, count] : known_wrong)
        warnings.push_back({"model_known_wrong",
                            fmt::format("{} ({:.0f}% of the traced instructions): do not trust this result", what,
                                        100.0 * static_cast<double>(count) /
                                            static_cast<double>(std::max<std::size_t>(1, traced.steps))),
                            "choose another target; docs/model.md says what is known to be wrong"});
    if (pages_partly_known)
        warnings.push_back({"model_pages", "some memory is only partly in huge pages; which part is not known",
                            "--assume-pages 4k or 2m bounds it"});
}

}  // namespace tmaprobe::model
