#include "timing/core_probes.h"

#include <array>

namespace tmaprobe::timing {
namespace {

#if defined(__x86_64__)

constexpr double chain_steps = 32, wide_steps = 128;
constexpr double of_loop = 2;  // instructions

// One loop around `text`, which the assembler repeats: a loop of the compiler's would put moves between the steps.
#define TMAPROBE_LOOP(repeats, text) "1:\n.rept " #repeats "\n" text "\n.endr\n dec %[turns]\n jnz 1b\n"

#define TMAPROBE_GENERAL_CHAIN(name, text)                                                                        \
    void name(std::uint64_t turns) {                                                                              \
        std::uint64_t x = 3;                                                                                      \
        const std::uint64_t one = 1;                                                                              \
        asm volatile(TMAPROBE_LOOP(32, text) : [x] "+r"(x), [turns] "+r"(turns) : [one] "r"(one) : "cc", "xmm1"); \
    }

// Values near one: no chain overflows, underflows or meets a number that is treated apart.
#define TMAPROBE_VECTOR_CHAIN(name, text)                                                                     \
    void name(std::uint64_t turns) {                                                                          \
        double x = 1.7;                                                                                       \
        const double y = 1.0000000000123;                                                                     \
        asm volatile(TMAPROBE_LOOP(32, text) : [x] "+x"(x), [turns] "+r"(turns) : [y] "x"(y) : "cc", "xmm0"); \
    }

TMAPROBE_GENERAL_CHAIN(chain_imul, "imul %[x], %[x]")
TMAPROBE_GENERAL_CHAIN(chain_popcnt, "popcnt %[x], %[x]")
TMAPROBE_GENERAL_CHAIN(chain_crc32, "crc32q %[x], %[x]")
TMAPROBE_GENERAL_CHAIN(chain_rotate, "rorq $7, %[x]")
TMAPROBE_GENERAL_CHAIN(chain_lea, "lea 5(%[x],%[one]), %[x]")
TMAPROBE_GENERAL_CHAIN(chain_general_to_vector, "movq %[x], %%xmm1\nmovq %%xmm1, %[x]")
TMAPROBE_VECTOR_CHAIN(chain_add, "addsd %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_multiply, "mulsd %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_divide, "divsd %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_square_root, "sqrtsd %[x], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_fused, "vfmadd213sd %[y], %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_vector_add, "paddd %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_vector_multiply, "pmulld %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_shuffle, "pshufb %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_aes, "aesenc %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_carryless, "pclmulqdq $0, %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_sha256_rounds, "sha256rnds2 %[y], %[x]")
TMAPROBE_VECTOR_CHAIN(chain_sha256_message, "sha256msg2 %[y], %[x]")

void chain_load(std::uint64_t turns) {
    const void* place = &place;
    asm volatile(TMAPROBE_LOOP(32, "mov (%[place]), %[place]")
                 : [place] "+r"(place), [turns] "+r"(turns)
                 :
                 : "cc", "memory");
}

// Through two registers, so that no core can tell beforehand that the load reads what was stored.
void chain_forward(std::uint64_t turns) {
    std::uint64_t stored = 1, x = 1;
    asm volatile(TMAPROBE_LOOP(32, "mov %[x], (%[to])\nmov (%[from]), %[x]")
                 : [x] "+r"(x), [turns] "+r"(turns)
                 : [to] "r"(&stored), [from] "r"(&stored)
                 : "cc", "memory");
}

void chain_failed_forward(std::uint64_t turns) {
    std::uint64_t stored = 1, x = 1;
    asm volatile(TMAPROBE_LOOP(32, "movb %b[x], (%[to])\nmov (%[from]), %[x]")
                 : [x] "+q"(x), [turns] "+r"(turns)
                 : [to] "r"(&stored), [from] "r"(&stored)
                 : "cc", "memory");
}

void chain_locked_add(std::uint64_t turns) {
    std::uint64_t place = 0;
    const std::uint64_t one = 1;
    asm volatile(TMAPROBE_LOOP(32, "lock add %[one], (%[place])")
                 : [turns] "+r"(turns)
                 : [place] "r"(&place), [one] "r"(one)
                 : "cc", "memory");
}

void no_operations(std::uint64_t turns) { asm volatile(TMAPROBE_LOOP(128, "nop") : [turns] "+r"(turns) : : "cc"); }

void adds_in_width(std::uint64_t turns) {
    const std::uint64_t one = 1;
    asm volatile(TMAPROBE_LOOP(16,
                               "add %[one], %%r8\nadd %[one], %%r9\nadd %[one], %%r10\nadd %[one], %%r11\n"
                               "add %[one], %%r12\nadd %[one], %%r13\nadd %[one], %%r14\nadd %[one], %%r15")
                 : [turns] "+r"(turns)
                 : [one] "r"(one)
                 : "cc", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
}

void independent_loads(std::uint64_t turns) {
    alignas(64) std::array<std::uint64_t, 8> place{};
    asm volatile(TMAPROBE_LOOP(16,
                               "mov (%[place]), %%r8\nmov 8(%[place]), %%r9\nmov 16(%[place]), %%r10\n"
                               "mov 24(%[place]), %%r11\nmov 32(%[place]), %%r8\nmov 40(%[place]), %%r9\n"
                               "mov 48(%[place]), %%r10\nmov 56(%[place]), %%r11")
                 : [turns] "+r"(turns)
                 : [place] "r"(place.data())
                 : "cc", "memory", "r8", "r9", "r10", "r11");
}

void independent_stores(std::uint64_t turns) {
    alignas(64) std::array<std::uint64_t, 8> place{};
    asm volatile(TMAPROBE_LOOP(16,
                               "mov %[turns], (%[place])\nmov %[turns], 8(%[place])\nmov %[turns], 16(%[place])\n"
                               "mov %[turns], 24(%[place])\nmov %[turns], 32(%[place])\nmov %[turns], 40(%[place])\n"
                               "mov %[turns], 48(%[place])\nmov %[turns], 56(%[place])")
                 : [turns] "+r"(turns)
                 : [place] "r"(place.data())
                 : "cc", "memory");
}

using enum CoreProbe::Tells;
constexpr std::array probes{
    CoreProbe{"latency.imul", latency, chain_steps, chain_steps + of_loop, "", chain_imul},
    CoreProbe{"latency.popcnt", latency, chain_steps, chain_steps + of_loop, "popcnt", chain_popcnt},
    CoreProbe{"latency.crc32", latency, chain_steps, chain_steps + of_loop, "sse4_2", chain_crc32},
    CoreProbe{"latency.rotate", latency, chain_steps, chain_steps + of_loop, "", chain_rotate},
    CoreProbe{"latency.lea_three_operands", latency, chain_steps, chain_steps + of_loop, "", chain_lea},
    CoreProbe{"latency.general_to_vector_and_back", latency, chain_steps, 2 * chain_steps + of_loop, "",
              chain_general_to_vector},
    CoreProbe{"latency.add_double", latency, chain_steps, chain_steps + of_loop, "", chain_add},
    CoreProbe{"latency.multiply_double", latency, chain_steps, chain_steps + of_loop, "", chain_multiply},
    CoreProbe{"latency.divide_double", latency, chain_steps, chain_steps + of_loop, "", chain_divide},
    CoreProbe{"latency.square_root_double", latency, chain_steps, chain_steps + of_loop, "", chain_square_root},
    CoreProbe{"latency.fused_multiply_add", latency, chain_steps, chain_steps + of_loop, "fma", chain_fused},
    CoreProbe{"latency.add_vector", latency, chain_steps, chain_steps + of_loop, "", chain_vector_add},
    CoreProbe{"latency.multiply_vector_32", latency, chain_steps, chain_steps + of_loop, "sse4_1",
              chain_vector_multiply},
    CoreProbe{"latency.shuffle_bytes", latency, chain_steps, chain_steps + of_loop, "ssse3", chain_shuffle},
    CoreProbe{"latency.aesenc", latency, chain_steps, chain_steps + of_loop, "aes", chain_aes},
    CoreProbe{"latency.pclmulqdq", latency, chain_steps, chain_steps + of_loop, "pclmulqdq", chain_carryless},
    CoreProbe{"latency.sha256rnds2", latency, chain_steps, chain_steps + of_loop, "sha_ni", chain_sha256_rounds},
    CoreProbe{"latency.sha256msg2", latency, chain_steps, chain_steps + of_loop, "sha_ni", chain_sha256_message},
    CoreProbe{"latency.locked_add", latency, chain_steps, chain_steps + of_loop, "", chain_locked_add},
    CoreProbe{"load.l1", latency, chain_steps, chain_steps + of_loop, "", chain_load},
    CoreProbe{"store.forward", latency, chain_steps, 2 * chain_steps + of_loop, "", chain_forward},
    CoreProbe{"store.forward_failed", latency, chain_steps, 2 * chain_steps + of_loop, "", chain_failed_forward},
    CoreProbe{"width.no_operations", width, wide_steps, wide_steps + of_loop, "", no_operations},
    CoreProbe{"width.adds", width, wide_steps, wide_steps + of_loop, "", adds_in_width},
    CoreProbe{"width.loads", width, wide_steps, wide_steps + of_loop, "", independent_loads},
    CoreProbe{"width.stores", width, wide_steps, wide_steps + of_loop, "", independent_stores},
};

#undef TMAPROBE_LOOP
#undef TMAPROBE_GENERAL_CHAIN
#undef TMAPROBE_VECTOR_CHAIN

#else

constexpr std::array<CoreProbe, 0> probes{};

#endif

}  // namespace

std::span<const CoreProbe> core_probes() { return probes; }

void run_branches(const unsigned char* decisions, std::uint64_t count, std::uint64_t steps) {
    std::uint64_t taken = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
        // The barrier keeps the compiler from turning the branch into arithmetic.
        if (decisions[step & (count - 1)] & 1) {
            ++taken;
            asm volatile("" : "+r"(taken));
        }
    }
    asm volatile("" : : "r"(taken));
}

}  // namespace tmaprobe::timing
