#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "machine/host.h"
#include "memory/pages.h"

namespace tmaprobe::kernels {

/// What one iteration of a kernel does, by construction. Counting instructions in an emulator must
/// confirm it.
struct Work {
    double operations = 1;         ///< in the descriptor's `operation` unit
    double bytes = 0;              ///< as the program sees them; 0: the kernel moves no bytes
    double bus_bytes = 0;          ///< as the bus to memory does, when no cache holds them: lines that are written
                                   ///< without a non-temporal store are read first; 0: as `bytes`
    double loads = 0, stores = 0;  ///< instructions that touch the kernel's own memory
};

/// What the user may ask of a kernel. Kernels refuse what they do not know.
struct Parameters {
    std::uint64_t size_bytes = 0;  ///< 0: the kernel's default
    memory::PageMode pages;        ///< for kernels that use memory
    std::vector<int> cpus;         ///< where its threads run, one each; the first is the calling thread's
    std::optional<int> numa_node;
    std::map<std::string, std::string> options;  ///< kernel-specific: "chains" -> "8", "hint" -> "nta"
};

/// A kernel with its memory in place, ready to run; freed by its destructor.
class Kernel {
  public:
    virtual ~Kernel() = default;
    /// Called before each measured run(), outside its time: brings the caches into the state that the
    /// kernel was asked for (see chase's option refresh). Most kernels have nothing to do here.
    virtual void prepare() {}
    /// Back to where it began when it was made: what run() does from then on is the same each time.
    virtual void restart() {}
    /// Runs exactly `iterations` iterations in the calling thread (and its own threads, if it has any).
    virtual void run(std::uint64_t iterations) = 0;
    virtual Work per_iteration() const = 0;
    /// Pages obtained for its memory; empty when it uses none worth speaking of.
    virtual memory::ObtainedBytes obtained_pages() const { return {}; }
    /// Kernel thread ids that do the work besides the calling thread.
    virtual std::vector<pid_t> threads() const { return {}; }
    /// All parameters as they came out (defaults filled in), for the record: name -> value.
    virtual std::map<std::string, std::string> parameters() const { return {}; }
};

/// One block of memory that several variants of a kernel go over in turns, a slice at a time, so that each meets the
/// same memory, pages and threads, and no slice is still in a cache when it is gone over again.
class VariantTrial {
  public:
    virtual ~VariantTrial() = default;
    virtual std::size_t slices() const = 0;
    /// As the program sees them, moved by one call of run().
    virtual double slice_bytes() const = 0;
    /// The variant of that index among those that the trial was made for works on the slice once.
    virtual void run(std::size_t variant, std::size_t slice) = 0;
};

/// One implementation of a kernel for one instruction set.
struct Variant {
    std::string name;                ///< "shani"
    std::string what;                ///< one line
    std::vector<std::string> needs;  ///< names as in machine::Host::features; empty: runs everywhere
    bool built = true;               ///< false: not for this architecture
    int vector_bytes = 0;            ///< of its loads; 0: nothing that a core could do in two pieces
};

/// An option that only this kernel has.
struct Option {
    std::string name, what, default_value;
    std::vector<std::string> choices;  ///< empty: a whole number, perhaps with a suffix K, M or G
};

/// The plain facts of one kernel.
struct KernelDescriptor {
    std::string name;
    std::string what;               ///< one line: what it does
    std::string operation;          ///< what ns per operation counts: "64-byte block", "load"
    std::string bottleneck;         ///< category that it is built to show: "backend", with the part in words
    std::vector<Variant> variants;  ///< best first
    std::vector<Option> options;
    bool uses_memory = false;  ///< takes --size and --pages
    std::uint64_t default_size = 0;
    int min_threads = 1, max_threads = 1;  ///< max 0: as many as there are CPUs
    /// The widest vectors that pay for these parameters on this host; 0: any. Without it, as wide as the host's loads.
    int (*widest_vector)(const Parameters& parameters, const machine::Host& host) = nullptr;
    /// Bytes that make() will map for these parameters; without it, their size.
    std::uint64_t (*footprint)(const Parameters& parameters) = nullptr;
    /// A trial of these variants in a block of the parameters' size. Where it is empty the widest vectors are chosen by
    /// the CPU's table alone. Errors: as make.
    Result<std::unique_ptr<VariantTrial>> (*make_trial)(const std::vector<std::string>& variants,
                                                        const Parameters& parameters) = nullptr;
    /// Builds the kernel in the named variant. Errors: bad_usage for parameters it cannot take,
    /// unavailable for memory it cannot get. Does not check the CPU: see choose_variant.
    Result<std::unique_ptr<Kernel>> (*make)(const std::string& variant, const Parameters& parameters) = nullptr;
};

/// All kernels, in the order they are listed.
std::span<const KernelDescriptor> all();

/// Errors: bad_usage with a suggestion.
Result<const KernelDescriptor*> find(const std::string& name);

/// All variants that this host can run for the parameters without a choice by the user, best first, vectors wider than
/// its loads among them.
std::vector<Variant> runnable_variants(const KernelDescriptor& kernel, const machine::Host& host);

/// Bytes of memory that the kernel maps for these parameters; 0 for one that uses none.
std::uint64_t footprint(const KernelDescriptor& kernel, const Parameters& parameters);

/// The best variant that this host can run for the parameters, or `wanted` if it can run it. Vectors wider than
/// the host's loads are not the best: a core that moves 512 bits in two halves does 256 bits faster. Errors: bad_usage
/// for an unknown variant; unavailable for one that the CPU lacks the instructions for (naming them).
Result<Variant> choose_variant(const KernelDescriptor& kernel, const std::string& wanted, const machine::Host& host,
                               const Parameters& parameters = {});

/// A kernel with its parameters in one word.
struct Spec {
    const KernelDescriptor* kernel = nullptr;
    std::string variant;  ///< empty: the best
    int threads = 1;
    Parameters parameters;
};

/// Reads "chase", or "chase:size=8M,pages=2m,chains=4": the kernel's name, then size, pages, variant,
/// threads, cpus (numbers joined by '+'), numa-node, or one of the kernel's own options. Errors: bad_usage with a
/// suggestion; as memory::parse_page_mode for the page mode.
Result<Spec> parse_spec(std::string_view text);

/// The kernel's options with defaults filled in. Errors: bad_usage for an option that the kernel does not
/// have or a value that is not one of its choices.
Result<std::map<std::string, std::string>> complete_options(const KernelDescriptor& kernel,
                                                            const std::map<std::string, std::string>& given);

/// Of a kernel's parameters as they came out, the names of those that are none of its options: they follow from these.
std::vector<std::string> derived_names(const KernelDescriptor& kernel,
                                       const std::map<std::string, std::string>& parameters);

/// An option whose values have names: those of a table's entries (`name`), the first being the default.
template <class Table>
Option named_option(std::string name, std::string what, const Table& table) {
    Option option{std::move(name), std::move(what), std::begin(table)->name, {}};
    for (const auto& entry : table) option.choices.emplace_back(entry.name);
    return option;
}

/// The entry that the option names (complete_options has checked that there is one).
template <class Table>
const auto& chosen(const std::map<std::string, std::string>& options, const std::string& option, const Table& table) {
    const auto value = options.find(option);
    for (const auto& entry : table)
        if (value != options.end() && value->second == entry.name) return entry;
    return *std::begin(table);
}

/// The value of an option that is a number (complete_options has checked its form). Errors: bad_usage
/// outside least..most.
Result<std::uint64_t> number_option(const std::map<std::string, std::string>& options, const std::string& name,
                                    std::uint64_t least, std::uint64_t most);

/// Refuses what no kernel of this descriptor can do: a wrong number of CPUs, a size or page mode for one
/// that uses no memory, an unknown option. Every make() calls it first. Errors: bad_usage.
Result<> check_parameters(const KernelDescriptor& kernel, const Parameters& parameters);

}  // namespace tmaprobe::kernels
