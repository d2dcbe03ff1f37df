// Small loops of known cost, one per argument: each runs a dependent chain (latency) or independent copies
// (throughput) of one instruction, 64 to an iteration, for about half a second.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define R4(x) x x x x
#define R16(x) R4(R4(x))
#define R64(x) R4(R16(x))
#define LOOP(name, setup, body)                                                              \
    static void name(long n) {                                                               \
        static double one[8] = {1, 1, 1, 1, 1, 1, 1, 1};                                     \
        static void* self[8];                                                                \
        self[0] = self;                                                                      \
        __asm__ volatile("movupd %1, %%xmm0\n movapd %%xmm0, %%xmm1\n movapd %%xmm0, %%xmm2\n" \
                         "mov $3, %%eax\n mov $5, %%ecx\n mov $7, %%r8d\n" setup               \
                         "1:\n" body "dec %0\n jnz 1b\n"                                       \
                         : "+r"(n) : "m"(one[0]), "r"(self)                                    \
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",         \
                           "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory", "cc"); \
    }

LOOP(add_latency, "", R64("add %%rcx, %%rax\n"))
LOOP(imul_latency, "", R64("imul %%rcx, %%rax\n"))
LOOP(imul_throughput, "", R16("imul %%rcx, %%rsi\n imul %%rcx, %%rdi\n imul %%rcx, %%r9\n imul %%rcx, %%r10\n"))
LOOP(load_latency, "mov %2, %%rax\n", R64("mov (%%rax), %%rax\n"))
LOOP(addsd_latency, "", R64("addsd %%xmm1, %%xmm0\n"))
LOOP(mulsd_latency, "", R64("mulsd %%xmm1, %%xmm0\n"))
LOOP(fma_latency, "", R64("vfmadd231sd %%xmm1, %%xmm2, %%xmm0\n"))
LOOP(divsd_latency, "", R64("divsd %%xmm1, %%xmm0\n"))
LOOP(sqrtsd_latency, "", R64("sqrtsd %%xmm0, %%xmm0\n"))
LOOP(crc32_latency, "", R64("crc32q %%rcx, %%rax\n"))
LOOP(popcnt_throughput, "", R16("popcnt %%rcx, %%rsi\n popcnt %%rcx, %%rdi\n popcnt %%rcx, %%r9\n popcnt %%rcx, %%r10\n"))
LOOP(paddd_throughput, "", R16("vpaddd %%xmm0, %%xmm1, %%xmm3\n vpaddd %%xmm0, %%xmm1, %%xmm4\n vpaddd %%xmm0, %%xmm1, %%xmm5\n vpaddd %%xmm0, %%xmm1, %%xmm6\n"))
LOOP(pmulld_latency, "", R64("pmulld %%xmm1, %%xmm0\n"))
LOOP(aesenc_latency, "", R64("aesenc %%xmm1, %%xmm0\n"))
LOOP(shuffle_throughput, "", R16("vpshufb %%xmm0, %%xmm1, %%xmm3\n vpshufb %%xmm0, %%xmm1, %%xmm4\n vpshufb %%xmm0, %%xmm1, %%xmm5\n vpshufb %%xmm0, %%xmm1, %%xmm6\n"))

static const struct { const char* name; void (*run)(long); } loops[] = {
#define ENTRY(name) {#name, name}
    ENTRY(add_latency), ENTRY(imul_latency), ENTRY(imul_throughput), ENTRY(load_latency), ENTRY(addsd_latency),
    ENTRY(mulsd_latency), ENTRY(fma_latency), ENTRY(divsd_latency), ENTRY(sqrtsd_latency), ENTRY(crc32_latency),
    ENTRY(popcnt_throughput), ENTRY(paddd_throughput), ENTRY(pmulld_latency), ENTRY(aesenc_latency), ENTRY(shuffle_throughput)};

int main(int count, char** arguments) {
    if (count < 2) return 2;
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; ++i) {
        if (strcmp(arguments[1], loops[i].name)) continue;
        const clock_t end = clock() + CLOCKS_PER_SEC / 3;
        while (clock() < end) loops[i].run(10000);
        return 0;
    }
    return 2;
}
