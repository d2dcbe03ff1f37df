#include "kernels/stream/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sizes.h"
#include "kernels/team.h"

namespace tmaprobe::kernels::stream {
namespace {

/// What an operation moves, in arrays' lengths.
struct Facts {
    const char* name;
    Operation operation;
    int arrays, loaded, stored, bus;
};
constexpr std::array operations{
    Facts{"read", Operation::read, 1, 1, 0, 1},        Facts{"write", Operation::write, 1, 0, 1, 2},
    Facts{"ntwrite", Operation::nt_write, 1, 0, 1, 1}, Facts{"copy", Operation::copy, 2, 1, 1, 3},
    Facts{"ntcopy", Operation::nt_copy, 2, 1, 1, 2},   Facts{"triad", Operation::triad, 3, 2, 1, 4},
    Facts{"nttriad", Operation::nt_triad, 3, 2, 1, 3},
};
struct NamedHint {
    const char* name;
    Hint hint;
};
constexpr std::array hints{NamedHint{"none", Hint::none}, NamedHint{"t0", Hint::t0},   NamedHint{"t1", Hint::t1},
                           NamedHint{"t2", Hint::t2},     NamedHint{"nta", Hint::nta}, NamedHint{"w", Hint::w}};

struct VariantFacts {
    const char* name;
    const char* what;
    std::vector<std::string> needs;
    Pass (*find)(Operation, Hint);
    std::uint64_t vector_bytes;
};

const std::array<VariantFacts, 5>& variants() {
    static const std::array<VariantFacts, 5> all{
        VariantFacts{"avx512", "64-byte vectors", {"avx512f"}, find_avx512, 64},
        VariantFacts{"avx2", "32-byte vectors", {"avx2", "fma"}, find_avx2, 32},
        VariantFacts{"sse2", "16-byte vectors of every x86-64", {}, find_sse2, 16},
        VariantFacts{"neon", "pairs of 16-byte vectors", {}, find_neon, 32},
        VariantFacts{"scalar", "8 bytes at a time", {}, find_scalar, 8},
    };
    return all;
}

/// In memory the widest vectors are not always the fastest: see memory_vector_bytes of the CPU's table. Stores past
/// the caches fetch nothing, and are best as wide as a line wherever they go.
int widest_vector(const Parameters& parameters, const machine::Host& host) {
    if (chosen(parameters.options, "op", operations).operation == Operation::nt_write) return 0;
    std::uint64_t last_level = 0;
    for (const machine::Cache& cache : host.caches) last_level = std::max(last_level, cache.size_bytes);
    const bool in_memory = last_level > 0 && parameters.size_bytes > last_level;
    return in_memory && host.memory_vector_bytes > 0 ? host.memory_vector_bytes : host.load_bytes;
}

class StreamKernel final : public Kernel {
  public:
    StreamKernel(const Facts& facts, Pass pass, std::uint64_t vector_bytes, memory::Buffer buffer,
                 std::unique_ptr<Team> team, std::vector<Share> shares, std::map<std::string, std::string> parameters)
        : facts_(facts),
          pass_(pass),
          vector_bytes_(vector_bytes),
          buffer_(std::move(buffer)),
          team_(std::move(team)),
          shares_(std::move(shares)),
          parameters_(std::move(parameters)) {}

    void run(std::uint64_t iterations) override {
        team_->run([&](std::size_t member) { pass_(shares_[member], iterations); });
    }

    Work per_iteration() const override {
        double length = 0;
        for (const Share& share : shares_) length += static_cast<double>(share.bytes);
        Work work;
        work.operations = length / 64;
        work.bytes = length * (facts_.loaded + facts_.stored);
        work.bus_bytes = length * facts_.bus;
        work.loads = length * facts_.loaded / static_cast<double>(vector_bytes_);
        work.stores = length * facts_.stored / static_cast<double>(vector_bytes_);
        return work;
    }

    memory::ObtainedBytes obtained_pages() const override { return buffer_.obtained(); }
    std::vector<pid_t> threads() const override { return team_->thread_ids(); }
    std::map<std::string, std::string> parameters() const override { return parameters_; }

  private:
    Facts facts_;
    Pass pass_;
    std::uint64_t vector_bytes_;
    memory::Buffer buffer_;
    std::unique_ptr<Team> team_;
    std::vector<Share> shares_;
    std::map<std::string, std::string> parameters_;
};

/// Arrays begin this far beyond a multiple of a page from each other: a core that compares the low 12 bits
/// of addresses would else take each load for one that waits for the store a little before it.
constexpr std::uint64_t stagger = 128;

/// Cuts the block into arrays and the arrays into one share per thread.
std::vector<Share> cut(std::byte* block, std::uint64_t array_distance, int arrays, std::uint64_t share_bytes,
                       std::size_t threads, std::uint64_t distance) {
    std::vector<Share> shares(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        std::byte* const first = block + i * share_bytes;
        shares[i].a = first;
        shares[i].b = arrays > 1 ? first + array_distance : first;
        shares[i].c = arrays > 2 ? first + 2 * array_distance : first;
        shares[i].bytes = share_bytes;
        shares[i].distance = distance;
    }
    return shares;
}

/// Each member faults in what it will use, so that it lies on that member's node, and fills it.
Result<> first_touch(Team& team, memory::Buffer& buffer, const std::vector<Share>& shares, int arrays) {
    std::vector<Result<>> results(team.size());
    team.run([&](std::size_t member) {
        const Share& share = shares[member];
        const std::array<std::byte*, 3> starts{share.a, share.b, share.c};
        for (int array = 0; array < arrays && results[member]; ++array) {
            std::byte* const start = starts[static_cast<std::size_t>(array)];
            results[member] = buffer.fault_in(static_cast<std::uint64_t>(start - buffer.data()), share.bytes);
            if (results[member])
                for (std::uint64_t at = 0; at < share.bytes; at += sizeof(double))
                    *reinterpret_cast<double*>(start + at) = static_cast<double>(at % 1000);
        }
    });
    for (const auto& result : results)
        if (!result) return pass_on(result);
    return {};
}

/// What the request comes down to once it is checked.
struct Request {
    Facts facts = operations[0];
    Hint hint = Hint::none;
    std::uint64_t distance = 0;
};

Result<Request> read_request(const std::map<std::string, std::string>& options) {
    Request request;
    request.facts = chosen(options, "op", operations);
    request.hint = chosen(options, "hint", hints).hint;
    request.distance = TRY(number_option(options, "distance", 0, std::uint64_t{1} << 24));
    if (request.facts.operation == Operation::nt_write && request.hint != Hint::none)
        return fail(ErrorCode::bad_usage, "op=ntwrite reads nothing that could be prefetched", "leave out the hint");
    return request;
}

/// Where the arrays lie in the block.
struct Layout {
    std::uint64_t share = 0;           ///< bytes of one array that one thread works on
    std::uint64_t array_distance = 0;  ///< from the beginning of one array to that of the next
    std::uint64_t whole = 0;           ///< of the block
};

Layout layout_of(const Facts& facts, const Parameters& parameters, std::uint64_t default_size) {
    const std::uint64_t bytes = parameters.size_bytes ? parameters.size_bytes : default_size;
    const std::uint64_t threads = std::max<std::size_t>(1, parameters.cpus.size()), page = memory::base_page_bytes();
    const auto arrays = static_cast<std::uint64_t>(facts.arrays);
    Layout layout;
    layout.share = bytes / (arrays * threads) / chunk_bytes * chunk_bytes;
    layout.array_distance = (layout.share * threads + page - 1) / page * page + (arrays > 1 ? stagger : 0);
    layout.whole = layout.array_distance * (arrays - 1) + layout.share * threads;
    return layout;
}

constexpr std::uint64_t usual_size = std::uint64_t{256} << 20;

std::uint64_t footprint_of(const Parameters& parameters) {
    return layout_of(chosen(parameters.options, "op", operations), parameters, usual_size).whole;
}

/// The arrays in their memory, with the threads that work on them.
struct Arena {
    Layout layout;
    std::unique_ptr<Team> team;
    memory::Buffer buffer;
    std::vector<Share> shares;
};

Result<Arena> make_arena(const Request& request, const Parameters& parameters) {
    const std::uint64_t bytes = parameters.size_bytes ? parameters.size_bytes : usual_size;
    const std::size_t threads = std::max<std::size_t>(1, parameters.cpus.size());
    const auto arrays = static_cast<std::uint64_t>(request.facts.arrays);
    if (bytes % 64 != 0)
        return fail(ErrorCode::bad_usage, fmt::format("size {} is not a multiple of the line of 64 bytes", bytes),
                    fmt::format("for example --size {}", format_size((bytes / 64 + 1) * 64)));
    const Layout layout = layout_of(request.facts, parameters, usual_size);
    if (layout.share == 0)
        return fail(ErrorCode::bad_usage,
                    fmt::format("size {} is too small for {} arrays and {} threads", bytes, arrays, threads),
                    fmt::format("at least --size {}", format_size(arrays * threads * chunk_bytes)));

    auto team = TRY(Team::start(parameters.cpus));
    auto buffer = TRY(memory::Buffer::map(layout.whole, parameters.pages, parameters.numa_node));
    std::vector<Share> shares =
        cut(buffer.data(), layout.array_distance, request.facts.arrays, layout.share, threads, request.distance);
    TRY(first_touch(*team, buffer, shares, request.facts.arrays));
    buffer.verify();
    return Arena{layout, std::move(team), std::move(buffer), std::move(shares)};
}

/// The variant's facts and its loop. Errors: bad_usage.
Result<std::pair<const VariantFacts*, Pass>> find_loop(const std::string& variant, const Request& request) {
    const VariantFacts* chosen = nullptr;
    for (const VariantFacts& facts : variants())
        if (variant == facts.name) chosen = &facts;
    const Pass pass = chosen ? chosen->find(request.facts.operation, request.hint) : nullptr;
    if (!pass)
        return fail(ErrorCode::bad_usage,
                    fmt::format("variant {} of stream has no op={} in this build", variant, request.facts.name));
    return std::pair(chosen, pass);
}

Result<std::unique_ptr<Kernel>> make(const std::string& variant, const Parameters& parameters) {
    static const KernelDescriptor description = descriptor();
    TRY(check_parameters(description, parameters));
    auto options = *complete_options(description, parameters.options);
    const auto request = TRY(read_request(options));
    const auto loop = TRY(find_loop(variant, request));
    auto arena = TRY(make_arena(request, parameters));
    const std::uint64_t array_bytes = arena.layout.share * arena.shares.size();
    options["size_bytes"] = std::to_string(array_bytes * static_cast<std::uint64_t>(request.facts.arrays));
    options["array_bytes"] = std::to_string(array_bytes);
    options["threads"] = std::to_string(arena.shares.size());
    return std::make_unique<StreamKernel>(request.facts, loop.second, loop.first->vector_bytes, std::move(arena.buffer),
                                          std::move(arena.team), std::move(arena.shares), std::move(options));
}

/// The loops of several variants in one arena.
class StreamTrial final : public VariantTrial {
  public:
    StreamTrial(const Facts& facts, std::vector<Pass> passes, Arena arena)
        : facts_(facts), passes_(std::move(passes)), arena_(std::move(arena)) {
        // Short enough for many turns, long enough for prefetchers to get going and for the clock.
        constexpr std::uint64_t least = std::uint64_t{1} << 20;
        constexpr std::uint64_t most_slices = 48;
        const std::uint64_t bytes = std::max(least, arena_.layout.share / most_slices) / chunk_bytes * chunk_bytes;
        slice_ = std::min(bytes, arena_.layout.share);
    }

    std::size_t slices() const override { return arena_.layout.share / slice_; }
    double slice_bytes() const override {
        return static_cast<double>(slice_ * arena_.shares.size()) * (facts_.loaded + facts_.stored);
    }
    void run(std::size_t variant, std::size_t slice) override {
        arena_.team->run([&](std::size_t member) {
            Share share = arena_.shares[member];
            for (std::byte** array : {&share.a, &share.b, &share.c}) *array += slice * slice_;
            share.bytes = slice_;
            passes_[variant](share, 1);
        });
    }

  private:
    Facts facts_;
    std::vector<Pass> passes_;
    Arena arena_;
    std::uint64_t slice_ = 0;
};

Result<std::unique_ptr<VariantTrial>> make_trial(const std::vector<std::string>& names, const Parameters& parameters) {
    static const KernelDescriptor description = descriptor();
    TRY(check_parameters(description, parameters));
    const auto options = *complete_options(description, parameters.options);
    const auto request = TRY(read_request(options));
    std::vector<Pass> passes;
    for (const auto& name : names) {
        const auto loop = TRY(find_loop(name, request));
        passes.push_back(loop.second);
    }
    auto arena = TRY(make_arena(request, parameters));
    return std::make_unique<StreamTrial>(request.facts, std::move(passes), std::move(arena));
}

}  // namespace

KernelDescriptor descriptor() {
    KernelDescriptor kernel;
    kernel.name = "stream";
    kernel.what = "reads, writes or combines arrays in order";
    kernel.operation = "64-byte line";
    kernel.bottleneck = "backend: memory bandwidth";
    for (const VariantFacts& facts : variants())
        kernel.variants.push_back({facts.name, facts.what, facts.needs,
                                   facts.find(Operation::read, Hint::none) != nullptr,
                                   static_cast<int>(facts.vector_bytes)});
    kernel.options = {
        named_option("op", "what is done; nt...: with stores past the caches", operations),
        named_option("hint", "software prefetch of the lines read; w: of the lines written", hints),
        {"distance", "bytes that the prefetch is ahead", "1K", {}},
    };
    kernel.uses_memory = true;
    kernel.default_size = usual_size;
    kernel.max_threads = 0;
    kernel.widest_vector = widest_vector;
    kernel.footprint = footprint_of;
    kernel.make_trial = make_trial;
    kernel.make = make;
    return kernel;
}

}  // namespace tmaprobe::kernels::stream
