#include "tests/truth/blocks/block_run.h"

#include <immintrin.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstring>

namespace tmaprobe::truth {
namespace {

// All below 2 GiB, so that absolute addresses of 32 bits reach them.
constexpr std::uint64_t code_address = 0x40000000, control_address = 0x3ff00000, value = 0x12345600;
constexpr std::size_t code_bytes = 1u << 20, control_bytes = 4096, page_bytes = 4096;
constexpr std::uint32_t saved_stack = control_address, counter = control_address + 8, vectors = control_address + 64;
constexpr std::size_t most_pages = 20000;
// All that a block touches hits the first level of caches. The pages of one block are that many physical ones by turns,
// not a single one: a Zen looks for a line by its virtual address first, and a line with two of them misses by turns.
constexpr std::size_t physical_pages = 6;

int memory = -1;
std::size_t mapped_pages = 0;

struct Shared {
    double cycles = 0;
    std::size_t steps = 0;
    Registers registers[1 << 14];
};
Shared* shared = nullptr;

void map_page(int, siginfo_t* info, void*) {
    const std::uint64_t page = reinterpret_cast<std::uint64_t>(info->si_addr) & ~(page_bytes - 1);
    const bool ours = page >= control_address && page < code_address + code_bytes;
    const auto offset = static_cast<off_t>(mapped_pages % physical_pages * page_bytes);
    if (info->si_signo != SIGSEGV || ours || ++mapped_pages > most_pages ||
        ::mmap(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
               memory, offset) == MAP_FAILED)
        ::_exit(2);
}

void note_step(int, siginfo_t*, void* context) {
    auto* user = static_cast<ucontext_t*>(context);
    const greg_t* g = user->uc_mcontext.gregs;
    const std::uint64_t at = static_cast<std::uint64_t>(g[REG_RIP]);
    const std::uint64_t last = *reinterpret_cast<std::uint64_t*>(control_address + 24);
    if (at >= last || shared->steps >= std::size(shared->registers)) {
        user->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
        return;
    }
    if (at < *reinterpret_cast<std::uint64_t*>(control_address + 16)) return;
    constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    Registers& out = shared->registers[shared->steps++];
    for (int i = 0; i < 16; ++i) out.general[i] = static_cast<std::uint64_t>(g[order[i]]);
    out.instruction_pointer = at;
}

class Assembler {
  public:
    explicit Assembler(std::uint8_t* at) : begin_(at), at_(at) {}
    void bytes(std::initializer_list<int> list) {
        for (const int byte : list) *at_++ = static_cast<std::uint8_t>(byte);
    }
    void word(std::uint32_t number) {
        std::memcpy(at_, &number, 4);
        at_ += 4;
    }
    void block(const Bytes& code) {
        std::memcpy(at_, code.data(), code.size());
        at_ += code.size();
    }
    void align() {
        while (reinterpret_cast<std::uint64_t>(at_) % 64) bytes({0x90});
    }
    std::uint8_t* at() const { return at_; }

  private:
    std::uint8_t *begin_, *at_;
};

/// void loop(): saves what a caller wants back, and runs `copies` copies as often as the counter says, each time with
/// all registers as at first and with nothing of one round left in flight in the next.
void assemble(const Bytes& block, std::size_t copies, bool trap) {
    Assembler code(reinterpret_cast<std::uint8_t*>(code_address));
    code.bytes({0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});  // push rbx rbp r12-r15
    code.bytes({0x48, 0x89, 0x24, 0x25});                                      // mov %rsp, saved
    code.word(saved_stack);
    if (trap) code.bytes({0x9c, 0x81, 0x0c, 0x24, 0x00, 0x01, 0x00, 0x00, 0x9d});  // pushf; orl $0x100, (%rsp); popf
    std::uint8_t* start = code.at();
    code.bytes({0x0f, 0xae, 0xe8});  // lfence
    code.bytes({0xc5, 0xf8, 0x77});  // vzeroupper
    for (int i = 0; i < 16; ++i) {   // movdqa vectors, %xmm_i
        code.bytes({0x66});
        if (i >= 8) code.bytes({0x44});
        code.bytes({0x0f, 0x6f, 0x04 | (i & 7) << 3, 0x25});
        code.word(vectors);
    }
    for (int i = 0; i < 16; ++i) {  // mov $value, %r32
        if (i >= 8) code.bytes({0x41});
        code.bytes({0xb8 | (i & 7)});
        code.word(value);
    }
    code.bytes({0x85, 0xc0});        // test %eax, %eax: flags are defined
    code.bytes({0x0f, 0xae, 0xe8});  // lfence
    // After the fence decoded instructions would be decoded again, up to the next taken branch.
    Assembler jump = code;
    code.bytes({0xe9, 0, 0, 0, 0});
    code.align();
    jump.bytes({0xe9});
    jump.word(static_cast<std::uint32_t>(code.at() - (jump.at() + 4)));
    const std::uint64_t first = reinterpret_cast<std::uint64_t>(code.at());
    for (std::size_t i = 0; i < copies; ++i) code.block(block);
    const std::uint64_t last = reinterpret_cast<std::uint64_t>(code.at());
    code.bytes({0x0f, 0xae, 0xe8});  // lfence
    code.bytes({0x83, 0x2c, 0x25});  // subl $1, counter
    code.word(counter);
    code.bytes({0x01, 0x0f, 0x85});  // jnz start
    code.word(static_cast<std::uint32_t>(start - (code.at() + 4)));
    code.bytes({0x48, 0x8b, 0x24, 0x25});  // mov saved, %rsp
    code.word(saved_stack);
    code.bytes({0xfc, 0xc5, 0xf8, 0x77, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3});
    auto* control = reinterpret_cast<std::uint64_t*>(control_address);
    control[2] = first;
    control[3] = last;
}

void run_loop(std::uint32_t rounds) {
    *reinterpret_cast<volatile std::uint32_t*>(counter) = rounds;
    reinterpret_cast<void (*)()>(code_address)();
}

std::uint64_t timed(std::uint32_t rounds) {
    unsigned ignored;
    _mm_lfence();
    const std::uint64_t start = __rdtsc();
    run_loop(rounds);
    const std::uint64_t end = __rdtscp(&ignored);
    _mm_lfence();
    return end - start;
}

/// Time-stamp ticks of `adds` adds that wait for one another: as many core cycles. Of registers: a Golden Cove adds
/// small constants while it renames, several of a chain in a cycle.
std::uint64_t chain_ticks(std::uint64_t adds) {
    unsigned ignored;
    std::uint64_t rounds = adds / 16, sum = 0, addend = 3;
    _mm_lfence();
    const std::uint64_t start = __rdtsc();
    asm volatile("1:\n.rept 16\nadd %2, %0\n.endr\ndec %1\njnz 1b" : "+r"(sum), "+r"(rounds) : "r"(addend) : "cc");
    const std::uint64_t end = __rdtscp(&ignored);
    _mm_lfence();
    return end - start;
}

/// Ticks of two square roots 300 no-operations apart, many times: they overlap only while the reorder buffer is all
/// ours, and the no-operations take their time only while the core's width is.
std::uint64_t canary_ticks() {
    unsigned ignored;
    std::uint64_t rounds = 60;
    __m128d root = _mm_set_sd(1.5);
    _mm_lfence();
    const std::uint64_t start = __rdtsc();
    asm volatile(
        "1:\n.rept 3\nsqrtsd %1, %1\n.endr\n.rept 300\nnop\n.endr\n.rept 3\nsqrtsd %1, %1\n.endr\n.rept "
        "100\nnop\n.endr\ndec %0\njnz 1b"
        : "+r"(rounds), "+x"(root)::"cc");
    const std::uint64_t end = __rdtscp(&ignored);
    _mm_lfence();
    return end - start;
}

bool prepare() {
    auto* code = ::mmap(reinterpret_cast<void*>(code_address), code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    auto* control = ::mmap(reinterpret_cast<void*>(control_address), control_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    constexpr std::size_t bytes = physical_pages * page_bytes;
    memory = ::memfd_create("memory", 0);
    if (code == MAP_FAILED || control == MAP_FAILED || memory < 0 || ::ftruncate(memory, bytes) != 0) return false;
    auto* content = static_cast<std::uint64_t*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    if (content == MAP_FAILED) return false;
    std::fill_n(content, bytes / 8, value);
    std::fill_n(reinterpret_cast<std::uint64_t*>(static_cast<std::uint64_t>(vectors)), 8, value);
    static std::uint8_t stack[1 << 16];
    const stack_t alternative{stack, 0, sizeof stack};
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_sigaction = map_page;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(number, &action, nullptr);
    action.sa_sigaction = note_step;
    ::sigaction(SIGTRAP, &action, nullptr);
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
    ::alarm(5);
    return true;
}

void measure_in_child(const Bytes& block, std::size_t copies) {
    constexpr std::uint32_t rounds = 30;
    constexpr std::uint64_t adds = 16000;
    constexpr int repetitions = 8, tries = 4;
    const auto best_of = [](auto&& run) { return std::min({run(), run(), run()}); };
    shared->cycles = dropped_unsteady;
    double ticks[2][repetitions];
    for (int attempt = 0; attempt < tries; ++attempt) {
        const std::uint64_t canary_before = best_of(canary_ticks),
                            chain_before = best_of([] { return chain_ticks(adds); });
        for (int length = 0; length < 2; ++length) {
            assemble(block, copies * static_cast<std::size_t>(length + 1), false);
            run_loop(2);  // maps the pages, warms the caches
            run_loop(rounds);
            for (double& tick : ticks[length]) tick = static_cast<double>(timed(rounds));
            std::sort(std::begin(ticks[length]), std::end(ticks[length]));
        }
        const std::uint64_t chain_after = best_of([] { return chain_ticks(adds); }),
                            canary_after = best_of(canary_ticks);
        // Six square roots of 12 to 20 cycles and 400 no-operations: see the README for what is quiet.
        const double chain = static_cast<double>(std::min(chain_before, chain_after));
        const double canary = static_cast<double>(std::max(canary_before, canary_after)) / chain;
        const bool same_clock = static_cast<double>(std::max(chain_before, chain_after)) < 1.01 * chain;
        const double quiet = *reinterpret_cast<double*>(control_address + 40);
        if (!same_clock || (quiet > 0 && canary > quiet)) {
            shared->cycles = dropped_busy;
            continue;
        }
        const bool steady = ticks[0][2] < 1.02 * ticks[0][0] && ticks[1][2] < 1.02 * ticks[1][0];
        if (!steady) {
            shared->cycles = dropped_unsteady;
            continue;
        }
        const double cycles_per_tick = static_cast<double>(adds) / chain;
        const double cycles = (ticks[1][2] - ticks[0][2]) * cycles_per_tick / rounds / static_cast<double>(copies);
        if (cycles > 0) shared->cycles = cycles;
        return;
    }
}

/// Runs `body` in a child that may die of it. False when it did.
bool in_child(const std::function<void()>& body) {
    if (!shared)
        shared = static_cast<Shared*>(
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    shared->steps = 0;
    shared->cycles = dropped_fault;
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
        if (!prepare()) ::_exit(3);
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The canary of a quiet machine, as a multiple of the chain of adds: the least of many.
double quiet_canary() {
    std::uint64_t canary = ~0ull, chain = ~0ull;
    for (int i = 0; i < 400; ++i) {
        canary = std::min(canary, canary_ticks());
        chain = std::min(chain, chain_ticks(16000));
    }
    return static_cast<double>(canary) / static_cast<double>(chain);
}

}  // namespace

std::size_t copies_for(std::size_t block_instructions, std::size_t instructions) {
    return std::max<std::size_t>(
        1, (instructions + block_instructions - 1) / std::max<std::size_t>(1, block_instructions));
}

double measure_block(const Bytes& block, std::size_t copies) {
    static const double quiet = 1.1 * quiet_canary();
    const bool ran = in_child([&] {
        *reinterpret_cast<double*>(control_address + 40) = quiet;
        measure_in_child(block, copies);
    });
    return ran ? shared->cycles : double{dropped_fault};
}

bool step_block(const Bytes& block, std::size_t copies, const std::function<void(const Registers&)>& on_step,
                std::uint64_t& first_address) {
    const bool ran = in_child([&] {
        assemble(block, copies, false);
        run_loop(1);  // maps the pages
        assemble(block, copies, true);
        run_loop(1);
        shared->cycles = static_cast<double>(reinterpret_cast<std::uint64_t*>(control_address)[2]);
    });
    if (!ran) return false;
    first_address = static_cast<std::uint64_t>(shared->cycles);
    for (std::size_t i = 0; i < shared->steps; ++i) on_step(shared->registers[i]);
    return shared->steps > 0;
}

}  // namespace tmaprobe::truth
