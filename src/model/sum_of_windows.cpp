#include "model/sum_of_windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace tmaprobe::model {
namespace {

template <class Weight>
Facts all_but(const WindowFacts& left_out, const std::vector<WindowFacts>& windows, const Weight& weight) {
    Facts rest;
    for (const WindowFacts& window : windows)
        if (&window != &left_out) add(rest, window.base, weight(window));
    return rest;
}

}  // namespace

Result<std::optional<trace::PageMap>> assumed_pages(const ModelOptions& options) {
    if (options.assume_pages.empty()) return std::nullopt;
    auto bytes = TRY(trace::parse_assumed_pages(options.assume_pages));
    return trace::PageMap::uniform(bytes);
}

void sum_up(std::vector<WindowFacts>& windows, bool weighted, const ModelledCpu& cpu, Modelled& modelled) {
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
        // A kernel repeats itself, so its windows differ by chance; a command's differ because it does, and what
        // is by chance is only which of its moments they met.
        if (!weighted)
            modelled.variations.push_back({record::Variation::window, window.base, {}});
        else if (windows.size() > 1)
            modelled.variations.push_back({record::Variation::window_left_out, all_but(window, windows, weight), {}});
        for (const auto& variation : window.variations) add(varied[variation.what], variation.facts, weight(window));
    }
    // A window that cannot tell the variations apart is the same in each.
    for (const WindowFacts& window : windows)
        for (auto& [what, facts] : varied)
            if (std::none_of(window.variations.begin(), window.variations.end(),
                             [&](const auto& one) { return one.what == what; }))
                add(facts, window.base, weight(window));
    for (auto& [what, facts] : varied) modelled.variations.push_back({what, std::move(facts), {}});
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
        const auto same = std::find(known.begin(), known.end(), window.mappings);
        const auto mappings = static_cast<std::size_t>(same - known.begin());
        if (same == known.end()) known.push_back(std::move(window.mappings));
        attribution.windows.push_back(
            {window.process, mappings, modelled.windows[i].weight, std::move(window.slots), {}});
        for (auto& [what, facts, slots] : window.variations)
            attribution.windows.back().variations.push_back({what, std::move(slots)});
    }
    return attribution;
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
