#include "kernels/chase/chase.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tmaprobe::kernels::chase {
namespace {

using Places = std::array<void*, most_chains>;
using Walk = void (*)(Places& places, std::uint64_t iterations);

/// One dependent load, written out so that no compiler adds to it or takes from it.
inline __attribute__((always_inline)) void follow(void*& place) {
#if defined(__x86_64__)
    asm volatile("mov (%0), %0" : "+r"(place));
#elif defined(__aarch64__)
    asm volatile("ldr %0, [%0]" : "+r"(place));
#else
    place = *static_cast<void* volatile*>(place);
#endif
}

/// Follows all chains side by side, 64 loads of each per iteration: the loop's own two instructions
/// vanish beside them.
template <int chains>
void walk(Places& places, std::uint64_t iterations) {
    void* at[chains];
#pragma GCC unroll 12
    for (int chain = 0; chain < chains; ++chain) {
        at[chain] = places[static_cast<std::size_t>(chain)];
        // Each chain in a register of its own until the end: the compiler would copy them as vectors.
        asm volatile("" : "+r"(at[chain]));
    }
    for (; iterations; --iterations) {
#pragma GCC unroll 64
        for (int step = 0; step < loads_per_iteration; ++step) {
#pragma GCC unroll 12
            for (int chain = 0; chain < chains; ++chain) follow(at[chain]);
        }
    }
#pragma GCC unroll 12
    for (int chain = 0; chain < chains; ++chain) {
        asm volatile("" : "+r"(at[chain]));
        places[static_cast<std::size_t>(chain)] = at[chain];
    }
}

template <int... counts>
constexpr std::array<Walk, sizeof...(counts)> walks(std::integer_sequence<int, counts...>) {
    return {walk<counts + 1>...};
}
constexpr auto walk_by_chains = walks(std::make_integer_sequence<int, most_chains>{});

class ChaseKernel final : public Kernel {
  public:
    ChaseKernel(memory::Buffer buffer, const Layout& layout, int chains, std::map<std::string, std::string> parameters)
        : buffer_(std::move(buffer)), chains_(chains), parameters_(std::move(parameters)) {
        refresh_ = parameters_["refresh"] == "yes";
        write_cycle(buffer_.data(), layout, seed);
        place_chains(layout);
        first_places_ = places_;
    }

    void restart() override { places_ = first_places_; }

    /// Reads every line once, so that the block is in the caches as far as it fits.
    void prepare() override {
        if (!refresh_) return;
        constexpr std::uint64_t line = 64;
        for (std::uint64_t at = 0; at < buffer_.size(); at += line)
            static_cast<void>(*reinterpret_cast<volatile std::byte*>(buffer_.data() + at));
    }

    void run(std::uint64_t iterations) override {
        walk_by_chains[static_cast<std::size_t>(chains_ - 1)](places_, iterations);
    }

    Work per_iteration() const override {
        Work work;
        work.operations = work.loads = double(loads_per_iteration) * chains_;
        work.bytes = work.loads * sizeof(void*);
        return work;
    }

    memory::ObtainedBytes obtained_pages() const override { return buffer_.obtained(); }
    std::map<std::string, std::string> parameters() const override { return parameters_; }

  private:
    static constexpr std::uint64_t seed = 20231;

    /// The chains share the one cycle, equally far apart; a walk finds their places, and leaves in the caches
    /// what any lap leaves there: the lines that were met last, which are the last to come again. One chain may
    /// begin anywhere, and several do in a block of very many lines; then the walk is no longer than it need be
    /// to leave little else in the caches that chains of one core use.
    void place_chains(const Layout& layout) {
        constexpr std::uint64_t longest_lap = std::uint64_t{1} << 22;
        const std::uint64_t lap = chase::places(layout);
        const auto chains = static_cast<std::uint64_t>(chains_);
        if (chains > 1 && lap <= longest_lap) {
            void* at = place_after(layout, 0);
            for (std::uint64_t chain = 0, walked = 0; chain < chains; ++chain) {
                places_[chain] = at;
                for (; walked < lap * (chain + 1) / chains; ++walked) follow(at);
            }
            return;
        }
        for (std::uint64_t chain = 0; chain < chains; ++chain)
            places_[chain] = place_after(layout, layout.bytes / chains * chain);
        constexpr std::uint64_t longest_walk = std::uint64_t{1} << 20;  // 64 MiB of cache lines
        run(std::min(lap, longest_walk) / (loads_per_iteration * chains) + 1);
    }

    /// The first place of the cycle at or after the page that holds the offset: the order tlb leaves most
    /// lines out.
    void* place_after(const Layout& layout, std::uint64_t offset) const {
        const std::uint64_t unit = layout.order == WalkOrder::tlb ? layout.page_bytes : layout.line_bytes;
        for (std::uint64_t at = offset / unit * unit;; at += layout.line_bytes)
            if (*reinterpret_cast<void**>(buffer_.data() + at)) return buffer_.data() + at;
    }

    memory::Buffer buffer_;
    Places places_{}, first_places_{};
    int chains_;
    bool refresh_ = false;
    std::map<std::string, std::string> parameters_;
};

struct NamedOrder {
    const char* name;
    WalkOrder order;
};
constexpr std::array orders{NamedOrder{"random", WalkOrder::random}, NamedOrder{"page", WalkOrder::page},
                            NamedOrder{"newpage", WalkOrder::new_page}, NamedOrder{"tlb", WalkOrder::tlb}};

Result<std::unique_ptr<Kernel>> make(const std::string&, const Parameters& parameters) {
    static const KernelDescriptor facts = descriptor();
    TRY(check_parameters(facts, parameters));
    auto options = *complete_options(facts, parameters.options);
    Layout layout;
    layout.bytes = parameters.size_bytes ? parameters.size_bytes : facts.default_size;
    layout.order = chosen(options, "order", orders).order;
    const auto line = number_option(options, "line", sizeof(void*), std::uint64_t{1} << 30);
    const auto page = number_option(options, "page", sizeof(void*), std::uint64_t{1} << 40);
    const auto chains = number_option(options, "chains", 1, most_chains);
    for (const auto* number : {&line, &page, &chains})
        if (!*number) return pass_on(*number);
    layout.line_bytes = *line;
    layout.page_bytes = *page;
    TRY(check_layout(layout));
    if (*chains > places(layout))
        return fail(ErrorCode::bad_usage, "more chains than lines in the block", "choose a larger --size");

    auto buffer = TRY(memory::Buffer::allocate(layout.bytes, parameters.pages, parameters.numa_node));
    options["size_bytes"] = std::to_string(layout.bytes);
    options["lines"] = std::to_string(places(layout));
    return std::make_unique<ChaseKernel>(std::move(buffer), layout, static_cast<int>(*chains), std::move(options));
}

}  // namespace

KernelDescriptor descriptor() {
    KernelDescriptor kernel;
    kernel.name = "chase";
    kernel.what = "dependent loads in random order over a block";
    kernel.operation = "load";
    kernel.bottleneck = "backend: memory latency, and translation where the block outgrows the TLB";
    kernel.variants = {{"scalar", "one load instruction per step", {}, true}};
    kernel.options = {
        named_option("order",
                     "random: any line after any; page: all of a page, then the next; newpage: another page "
                     "each time; tlb: one line of each page",
                     orders),
        {"chains", "independent chains side by side, 1 to 12", "1", {}},
        {"line", "bytes from one place to the next", "64", {}},
        {"page", "bytes that the orders by page take for a page", "4K", {}},
        {"refresh",
         "read the block before each repetition, so that it is cached as far as it fits",
         "no",
         {"no", "yes"}},
    };
    kernel.uses_memory = true;
    kernel.default_size = std::uint64_t{16} << 20;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::chase
