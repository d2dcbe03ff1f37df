#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/sizes.h"
#include "base/suggest.h"
#include "kernels/atomic/atomic.h"
#include "kernels/chase/chase.h"
#include "kernels/kernel.h"
#include "kernels/pingpong/pingpong.h"
#include "kernels/sha256/descriptor.h"
#include "kernels/stream/stream.h"

namespace tmaprobe::kernels {
namespace {

template <class Items>
std::vector<std::string> names_of(const Items& items) {
    std::vector<std::string> names;
    for (const auto& item : items) names.push_back(item.name);
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool all = error == std::errc{} && end == text.data() + text.size() && !text.empty();
    return all ? std::optional(value) : std::nullopt;
}

/// A number as options take it: 0, 64 or 4K.
std::optional<std::uint64_t> option_number(std::string_view text) {
    if (const auto plain = whole_number(text)) return plain;
    const auto size = parse_size(text);
    return size ? std::optional(*size) : std::nullopt;
}

Result<> check_option(const KernelDescriptor& kernel, const std::string& name, const std::string& value) {
    const auto option = std::find_if(kernel.options.begin(), kernel.options.end(),
                                     [&](const Option& candidate) { return candidate.name == name; });
    if (option == kernel.options.end())
        return fail(ErrorCode::bad_usage, fmt::format("kernel {} has no option '{}'", kernel.name, name),
                    kernel.options.empty() ? "it has no options" : suggest(name, names_of(kernel.options)));
    if (option->choices.empty()) {
        if (option_number(value)) return {};
        return fail(ErrorCode::bad_usage, fmt::format("option {}={} is not a whole number", name, value),
                    fmt::format("{}; for example {}={}", option->what, name, option->default_value));
    }
    if (std::find(option->choices.begin(), option->choices.end(), value) != option->choices.end()) return {};
    return fail(ErrorCode::bad_usage, fmt::format("option {} of kernel {} has no value '{}'", name, kernel.name, value),
                "one of: " + listed(option->choices));
}

Result<std::vector<int>> parse_cpus(std::string_view text) {
    std::vector<int> cpus;
    for (;;) {
        const auto plus = text.find('+');
        const auto cpu = whole_number(text.substr(0, plus));
        if (!cpu || *cpu > 1'000'000)
            return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a CPU number", text.substr(0, plus)),
                        "write CPU numbers joined by '+', for example cpus=0+2");
        cpus.push_back(static_cast<int>(*cpu));
        if (plus == std::string_view::npos) return cpus;
        text.remove_prefix(plus + 1);
    }
}

/// Puts one key=value of a spec where it belongs.
Result<> apply(Spec& spec, const std::string& key, const std::string& value) {
    if (key == "size") {
        spec.parameters.size_bytes = TRY(parse_size(value));
    } else if (key == "pages") {
        spec.parameters.pages = TRY(memory::parse_page_mode(value));
    } else if (key == "cpus" || key == "cpu") {
        spec.parameters.cpus = TRY(parse_cpus(value));
    } else if (key == "numa-node") {
        const auto node = whole_number(value);
        if (!node || *node > 1'000'000)
            return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a NUMA node", value));
        spec.parameters.numa_node = static_cast<int>(*node);
    } else if (key == "threads") {
        const auto threads = whole_number(value);
        if (!threads || *threads == 0 || *threads > 1'000'000)
            return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a number of threads", value));
        spec.threads = static_cast<int>(*threads);
    } else if (key == "variant") {
        spec.variant = value;
    } else {
        if (auto known = check_option(*spec.kernel, key, value); !known) return known;
        spec.parameters.options[key] = value;
    }
    return {};
}

}  // namespace

std::span<const KernelDescriptor> all() {
    static const std::array kernels{sha256::descriptor(), chase::descriptor(), stream::descriptor(),
                                    pingpong::descriptor(), atomic::descriptor()};
    return kernels;
}

Result<const KernelDescriptor*> find(const std::string& name) {
    for (const KernelDescriptor& kernel : all())
        if (kernel.name == name) return &kernel;
    return fail(ErrorCode::bad_usage, fmt::format("no kernel is called '{}'", name), suggest(name, names_of(all())));
}

std::vector<Variant> runnable_variants(const KernelDescriptor& kernel, const machine::Host& host) {
    std::vector<Variant> runnable;
    for (const Variant& variant : kernel.variants) {
        const bool can =
            std::ranges::all_of(variant.needs, [&](const auto& need) { return machine::has_feature(host, need); });
        if (variant.built && can) runnable.push_back(variant);
    }
    return runnable;
}

std::uint64_t footprint(const KernelDescriptor& kernel, const Parameters& parameters) {
    if (!kernel.uses_memory) return 0;
    if (kernel.footprint) return kernel.footprint(parameters);
    return parameters.size_bytes ? parameters.size_bytes : kernel.default_size;
}

Result<Variant> choose_variant(const KernelDescriptor& kernel, const std::string& wanted, const machine::Host& host,
                               const Parameters& parameters) {
    const int widest = kernel.widest_vector ? kernel.widest_vector(parameters, host) : host.load_bytes;
    const auto missing = [&](const Variant& variant) {
        std::vector<std::string> names;
        for (const std::string& need : variant.needs)
            if (!machine::has_feature(host, need)) names.push_back(need);
        return names;
    };
    const auto passed_over = [&](const Variant& variant) {
        const bool too_wide = widest > 0 && variant.vector_bytes > widest;
        return !variant.built || too_wide || !missing(variant).empty();
    };
    for (const Variant& variant : kernel.variants) {
        if (wanted.empty() ? passed_over(variant) : variant.name != wanted) continue;
        if (!variant.built)
            return fail(ErrorCode::unavailable,
                        fmt::format("variant {} of kernel {} is for another architecture than this {} build",
                                    variant.name, kernel.name, host.architecture),
                        "leave out --variant to get the best one for this CPU");
        if (const auto lacks = missing(variant); !lacks.empty())
            return fail(ErrorCode::unavailable,
                        fmt::format("this CPU cannot run variant {} of kernel {}: it lacks {}", variant.name,
                                    kernel.name, listed(lacks)),
                        "leave out --variant to get the best one for this CPU");
        return variant;
    }
    if (wanted.empty())
        return fail(ErrorCode::unavailable, fmt::format("this CPU can run no variant of kernel {}", kernel.name));
    return fail(ErrorCode::bad_usage, fmt::format("kernel {} has no variant '{}'", kernel.name, wanted),
                suggest(wanted, names_of(kernel.variants)));
}

Result<Spec> parse_spec(std::string_view text) {
    const auto colon = text.find(':');
    const auto kernel = TRY(find(std::string(text.substr(0, colon))));
    Spec spec{kernel, {}, 1, {}};
    if (colon == std::string_view::npos) return spec;
    std::string_view rest = text.substr(colon + 1);
    for (bool more = true; more;) {
        const auto comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0)
            return fail(ErrorCode::bad_usage, fmt::format("'{}' in '{}' is not a key=value", item, text),
                        "write for example chase:size=8M,pages=2m");
        if (auto done = apply(spec, std::string(item.substr(0, equals)), std::string(item.substr(equals + 1))); !done)
            return pass_on(done);
        more = comma != std::string_view::npos;
        if (more) rest.remove_prefix(comma + 1);
    }
    return spec;
}

std::vector<std::string> derived_names(const KernelDescriptor& kernel,
                                       const std::map<std::string, std::string>& parameters) {
    std::vector<std::string> names;
    for (const auto& [name, value] : parameters)
        if (std::ranges::none_of(kernel.options, [&](const Option& option) { return option.name == name; }))
            names.push_back(name);
    return names;
}

Result<std::map<std::string, std::string>> complete_options(const KernelDescriptor& kernel,
                                                            const std::map<std::string, std::string>& given) {
    for (const auto& [name, value] : given) TRY(check_option(kernel, name, value));
    std::map<std::string, std::string> options = given;
    for (const Option& option : kernel.options) options.emplace(option.name, option.default_value);
    return options;
}

Result<std::uint64_t> number_option(const std::map<std::string, std::string>& options, const std::string& name,
                                    std::uint64_t least, std::uint64_t most) {
    const auto found = options.find(name);
    const auto value = found == options.end() ? std::nullopt : option_number(found->second);
    if (value && *value >= least && *value <= most) return *value;
    return fail(ErrorCode::bad_usage,
                fmt::format("option {}={} is out of range", name, found == options.end() ? "" : found->second),
                fmt::format("from {} to {}", least, most));
}

Result<> check_parameters(const KernelDescriptor& kernel, const Parameters& parameters) {
    TRY(complete_options(kernel, parameters.options));
    const bool asks_for_memory = parameters.size_bytes != 0 || parameters.pages.hugetlb || parameters.pages.transparent;
    if (!kernel.uses_memory && asks_for_memory)
        return fail(ErrorCode::bad_usage, fmt::format("kernel {} takes no size and no pages", kernel.name),
                    "leave out --size and --pages");
    const auto threads = std::max<std::size_t>(parameters.cpus.size(), 1);
    const bool enough = threads >= static_cast<std::size_t>(kernel.min_threads) || parameters.cpus.empty();
    const bool few = kernel.max_threads == 0 || threads <= static_cast<std::size_t>(kernel.max_threads);
    if (enough && few) return {};
    return fail(ErrorCode::bad_usage, fmt::format("kernel {} cannot run on {} CPUs", kernel.name, threads),
                kernel.min_threads == kernel.max_threads ? fmt::format("it takes {}", kernel.min_threads)
                                                         : fmt::format("it takes {} or more", kernel.min_threads));
}

}  // namespace tmaprobe::kernels
