// How the helper's windows go through a pipe.
#include "base/json/read.h"
#include "base/json/write.h"
#include "model/sampled_windows.h"
#include "model/windows_beside.h"
#include "record/json/sampling.h"
#include "record/json/where.h"

namespace tmaprobe::model {
namespace {

/// Times by address, as two lists: a map has texts for keys.
struct TimesInText {
    std::uint32_t path = 0;  ///< of regions
    std::vector<std::uint64_t> addresses;
    std::vector<double> times;

    std::map<std::uint64_t, double> by_address() const {
        std::map<std::uint64_t, double> all;
        for (std::size_t i = 0; i < std::min(addresses.size(), times.size()); ++i) all[addresses[i]] = times[i];
        return all;
    }
};

TimesInText in_text(std::uint32_t path, const std::map<std::uint64_t, double>& by_address) {
    TimesInText text{path, {}, {}};
    for (const auto& [address, time] : by_address) {
        text.addresses.push_back(address);
        text.times.push_back(time);
    }
    return text;
}

TimesInText times_of(const WindowBeside& window) { return in_text(0, window.facts.time_by_address); }
void set_times(WindowBeside& window, const TimesInText& times) { window.facts.time_by_address = times.by_address(); }

std::vector<TimesInText> times_of_regions(const WindowBeside& window) {
    std::vector<TimesInText> all;
    for (const auto& [path, times] : window.facts.time_by_region) all.push_back(in_text(path, times));
    return all;
}
void set_times_of_regions(WindowBeside& window, const std::vector<TimesInText>& all) {
    for (const TimesInText& times : all) window.facts.time_by_region[times.path] = times.by_address();
}

}  // namespace
}  // namespace tmaprobe::model

namespace tmaprobe::json {

template <>
struct Description<counters::InstructionSlots> {
    using S = counters::InstructionSlots;
    static bool is_empty(const S& slots) { return slots.empty(); }
    static constexpr auto fields = std::make_tuple(field("numbers", &S::numbers));
};

template <>
struct Description<counters::InstructionEvents> {
    using E = counters::InstructionEvents;
    static bool is_empty(const E& events) { return events.empty(); }
    static constexpr auto fields = std::make_tuple(field("numbers", &E::numbers));
};

template <>
struct Description<counters::AccessSlots> {
    using S = counters::AccessSlots;
    static bool is_empty(const S& slots) { return slots.empty(); }
    static constexpr auto fields = std::make_tuple(field("numbers", &S::numbers));
};

template <>
struct Description<counters::ExecutedRuns> {
    using R = counters::ExecutedRuns;
    static bool is_empty(const R& runs) { return runs.empty(); }
    static constexpr auto fields = std::make_tuple(field("numbers", &R::numbers));
};

template <>
struct Description<counters::CallPaths::Call> {
    using C = counters::CallPaths::Call;
    static constexpr auto fields =
        std::make_tuple(field("from", &C::from), field("returned", &C::returned), field("site", &C::site));
};

template <>
struct Description<counters::CallPaths> {
    using C = counters::CallPaths;
    static bool is_empty(const C& paths) { return paths.numbers.empty(); }
    static constexpr auto fields = std::make_tuple(field("calls", &C::calls), field("numbers", &C::numbers));
};

template <>
struct Description<process::StackTop> {
    using S = process::StackTop;
    static constexpr auto fields =
        std::make_tuple(field("instruction_pointer", &S::instruction_pointer), field("registers", &S::registers),
                        field("begin", &S::begin), field("words", &S::words));
};

template <>
struct Description<process::MemoryMapping> {
    using M = process::MemoryMapping;
    static constexpr auto fields = std::make_tuple(
        field("begin", &M::begin), field("end", &M::end), field("offset", &M::offset), field("inode", &M::inode),
        field("path", &M::path), field("deleted", &M::deleted), field("writable", &M::writable),
        field("executable", &M::executable), field("shared", &M::shared));
};

template <>
struct Description<counters::LoopStepTimes> {
    using S = counters::LoopStepTimes;
    static constexpr auto fields =
        std::make_tuple(field("address", &S::address), field("renamed", &S::renamed), field("issued", &S::issued),
                        field("done", &S::done), field("retired", &S::retired), optional("ports", &S::ports),
                        optional("waits_for", &S::waits_for));
};

template <>
struct Description<counters::LoopTimes> {
    using L = counters::LoopTimes;
    static constexpr auto fields = std::make_tuple(
        field("hottest", &L::hottest), field("cycles", &L::cycles), field("times_around", &L::times_around),
        field("steps", &L::steps), field("chain", &L::chain), field("chain_cycles", &L::chain_cycles),
        field("chain_times_around", &L::chain_times_around), field("port_cycles", &L::port_cycles));
};

template <>
struct Description<model::FactVariation> {
    static constexpr auto fields = std::make_tuple(
        field("what", &model::FactVariation::what), field("facts", &model::FactVariation::facts),
        optional("regions", &model::FactVariation::regions), optional("slots", &model::FactVariation::slots),
        optional("accesses", &model::FactVariation::accesses));
};

template <>
struct Description<model::WindowFacts> {
    static constexpr auto fields = std::make_tuple(
        field("base", &model::WindowFacts::base), field("variations", &model::WindowFacts::variations),
        field("varied", &model::WindowFacts::varied), field("native_ns", &model::WindowFacts::native_ns),
        field("kind", &model::WindowFacts::kind), field("parts", &model::WindowFacts::parts),
        optional("slots", &model::WindowFacts::slots), optional("events", &model::WindowFacts::events),
        optional("accesses", &model::WindowFacts::accesses), optional("runs", &model::WindowFacts::runs),
        optional("loop", &model::WindowFacts::loop), optional("calls", &model::WindowFacts::calls),
        optional("stack", &model::WindowFacts::stack), optional("regions", &model::WindowFacts::regions),
        field("process", &model::WindowFacts::process), optional("mappings", &model::WindowFacts::mappings));
};

template <>
struct Description<model::TimesInText> {
    using T = model::TimesInText;
    static constexpr auto fields =
        std::make_tuple(field("path", &T::path), field("addresses", &T::addresses), field("times", &T::times));
};

template <>
struct Description<model::WindowBeside> {
    using W = model::WindowBeside;
    static constexpr auto fields = std::make_tuple(
        field("facts", &W::facts), field("simulated_instructions", &W::simulated_instructions),
        field("simulating_ns", &W::simulating_ns), property("times", model::times_of, model::set_times, {}),
        property("times_of_regions", model::times_of_regions, model::set_times_of_regions, {}));
};

template <>
struct Description<trace::SeenEntries> {
    using S = trace::SeenEntries;
    static constexpr auto fields = std::make_tuple(field("region", &S::region), field("entries", &S::entries),
                                                   field("instructions", &S::instructions));
};

template <>
struct Description<model::RegionFacts> {
    using R = model::RegionFacts;
    static constexpr auto fields = std::make_tuple(field("regions", &R::path), field("facts", &R::facts));
};

template <>
struct Description<process::CodeMapping> {
    using M = process::CodeMapping;
    static constexpr auto fields =
        std::make_tuple(field("begin", &M::begin), field("end", &M::end), field("offset", &M::offset),
                        field("inode", &M::inode), field("path", &M::path), field("deleted", &M::deleted));
};

template <>
struct Description<counters::ProcessSamples> {
    using P = counters::ProcessSamples;
    static constexpr auto fields =
        std::make_tuple(field("process", &P::process), field("code", &P::code), field("numbers", &P::numbers));
};

template <>
struct Description<counters::CodeSamples> {
    using S = counters::CodeSamples;
    static constexpr auto fields =
        std::make_tuple(field("about", &S::about), field("weight_of_a_sample", &S::weight_of_a_sample),
                        field("processes", &S::processes));
};

template <>
struct Description<model::EntryWindow> {
    using E = model::EntryWindow;
    static constexpr auto fields =
        std::make_tuple(field("region", &E::region), field("entry", &E::entry), field("instructions", &E::instructions),
                        field("entries", &E::entries), field("facts", &E::facts));
};

template <>
struct Description<model::SampledWindows> {
    using S = model::SampledWindows;
    static constexpr auto fields = std::make_tuple(
        field("sampling", &S::sampling), field("facts", &S::facts), field("known_wrong", &S::known_wrong),
        field("why_missed", &S::why_missed), field("error", &S::error), field("trace_problem", &S::trace_problem),
        field("steps", &S::steps), field("warmed", &S::warmed), field("undecodable", &S::undecodable),
        field("in_software", &S::in_software), field("simulated", &S::simulated), field("tasks", &S::tasks),
        field("tracing_ns", &S::tracing_ns), field("simulating_ns", &S::simulating_ns),
        field("pages_partly_known", &S::pages_partly_known), field("translated", &S::translated),
        optional("region_paths", &S::region_paths), optional("entries", &S::entries),
        optional("seen_entries", &S::seen_entries), optional("samples", &S::samples));
};

}  // namespace tmaprobe::json

namespace tmaprobe::model {

namespace {

template <class T>
std::string write_text(const T& value) {
    json::Writer writer;
    json::write(writer, value);
    return writer.take();
}

template <class T>
Result<T> read_text(const std::string& text) {
    const auto document = TRY(json::parse(text, "answer"));
    T value;
    std::string problem;
    json::read(json::Node(document.root(), problem), value);
    if (!problem.empty()) return fail(ErrorCode::system, "the helper's " + problem);
    return value;
}

}  // namespace

std::string to_text(const SampledWindows& windows) { return write_text(windows); }

std::string to_text(const WindowBeside& window) { return write_text(window); }

Result<SampledWindows> from_text(const std::string& text) { return read_text<SampledWindows>(text); }

Result<WindowBeside> window_from_text(const std::string& text) { return read_text<WindowBeside>(text); }

}  // namespace tmaprobe::model
