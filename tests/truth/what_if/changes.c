// Pairs of programs that differ in one thing: what it costs is known by the clock. changes NAME before|after TURNS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t state = 88172645463325252ull;
static uint64_t chance(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static volatile uint64_t result;

/// Branches that go one way with `percent` percent, by chance; after: the same branches, the ways in order.
static void branches(int after, long turns, int percent, int work) {
    enum { many = 1 << 12 };
    static unsigned char ways[many];
    for (int i = 0; i < many; ++i) ways[i] = chance() % 100 < (unsigned)percent;
    if (after) {  // sorted
        int ones = 0;
        for (int i = 0; i < many; ++i) ones += ways[i];
        for (int i = 0; i < many; ++i) ways[i] = i < ones;
    }
    uint64_t sum = 0, x = 1;
    // More than a predictor can learn by heart: what follows depends on the turn, too.
    for (long turn = 0; turn < turns; ++turn) {
        const unsigned key = after ? 0 : (unsigned)(chance() & (many - 1));
        for (int i = 0; i < many; ++i) {
            if (ways[i ^ (int)key]) {
                sum += x;
                __asm__ volatile("" : "+r"(sum));
            } else {
                sum ^= x;
                __asm__ volatile("" : "+r"(sum));
            }
            for (int j = 0; j < work; ++j) {
                x = x * 3 + 1;
                __asm__ volatile("" : "+r"(x));
            }
        }
    }
    result = sum + x;
}

/// A table of functions, called by chance; after: the same calls, one function after the other.
static uint64_t f0(uint64_t x) { return x + 1; }
static uint64_t f1(uint64_t x) { return x ^ 7; }
static uint64_t f2(uint64_t x) { return x * 3; }
static uint64_t f3(uint64_t x) { return x - 5; }
static void calls(int after, long turns) {
    static uint64_t (*const table[])(uint64_t) = {f0, f1, f2, f3};
    enum { many = 1 << 12 };
    static unsigned char order[many];
    for (int i = 0; i < many; ++i) order[i] = after ? i * 4 / many : chance() & 3;
    uint64_t x = 1;
    for (long turn = 0; turn < turns; ++turn) {
        const unsigned key = after ? 0 : (unsigned)(chance() & (many - 1));
        for (int i = 0; i < many; ++i) {
            uint64_t (*volatile f)(uint64_t) = table[order[i ^ (int)key]];
            x = f(x);
        }
    }
    result = x;
}

/// A pointer chase through so many lines.
static void chase_through(uint64_t (*lines)[8], size_t many, long turns) {
    size_t* const order = malloc(many * sizeof *order);
    for (size_t i = 0; i < many; ++i) order[i] = i;
    for (size_t i = many - 1; i > 0; --i) {
        const size_t j = chance() % i, kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (size_t i = 0; i < many; ++i) lines[order[i]][0] = (uint64_t)lines[order[(i + 1) % many]];
    uint64_t* at = lines[order[0]];
    free(order);
    for (long turn = 0; turn < turns * 1000; ++turn) at = (uint64_t*)*at;
    result = (uint64_t)at;
}

/// A pointer chase through so much; after: through 16 KiB.
static void chase(int after, long turns, size_t bytes) {
    const size_t many = (after ? 16384 : bytes) / 64;
    chase_through(aligned_alloc(4096, many * 64), many, turns);
}

/// A pointer chase in small pages; after: in large ones, as far as the kernel gives any.
static void pages(int after, long turns, size_t bytes) {
    const size_t large_page = (size_t)2 << 20;
    void* const memory = aligned_alloc(large_page, bytes);
    madvise(memory, bytes, after ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    chase_through(memory, bytes / 64, turns);
}

/// The same program before and after: what is beside it changes.
static void neighbour(long turns, size_t bytes) {
    chase_through(aligned_alloc(4096, bytes), bytes / 64, turns);
}

/// Loads by chance that do not wait for one another; after: from 16 KiB.
static void gather(int after, long turns, size_t bytes) {
    const size_t mask = (after ? 16384 : bytes) / 8 - 1;
    uint64_t* const data = aligned_alloc(4096, (mask + 1) * 8);
    for (size_t i = 0; i <= mask; ++i) data[i] = i;
    uint64_t sum = 0, x = 1;
    for (long turn = 0; turn < turns * 1000; ++turn) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        sum += data[(x >> 33) & mask];
    }
    result = sum;
}

/// A sum over so much in order; after: over 16 KiB again and again.
static void stream(int after, long turns, size_t bytes) {
    const size_t many = bytes / 8, part = after ? 16384 / 8 : many;
    uint64_t* const data = aligned_alloc(4096, many * 8);
    for (size_t i = 0; i < many; ++i) data[i] = i;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t at = 0;
    for (long turn = 0; turn < turns * 1000; turn += 32) {
        for (size_t i = 0; i < 32; i += 4) {
            a += data[at + i];
            b += data[at + i + 1];
            c += data[at + i + 2];
            d += data[at + i + 3];
            __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
        }
        at += 32;
        if (at >= part) at = 0;
    }
    result = a + b + c + d;
}

/// Two halves are stored and the whole is loaded; after: the whole is stored.
static void forwarding(int after, long turns, int work) {
    static volatile union {
        uint64_t whole;
        uint32_t halves[2];
    } place;
    uint64_t x = 1;
    for (long turn = 0; turn < turns * 1000; ++turn) {
        if (after) {
            place.whole = x;
        } else {
            place.halves[0] = (uint32_t)x;
            place.halves[1] = (uint32_t)(x >> 32);
        }
        x = place.whole + 3;
        for (int j = 0; j < work; ++j) {
            x = x * 3 + 1;
            __asm__ volatile("" : "+r"(x));
        }
    }
    result = x;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    const char* const name = words[1];
    const int after = strcmp(words[2], "after") == 0;
    const long turns = atol(words[3]);
    const char* const number = strchr(name, ':');
    const long value = number ? atol(number + 1) : 0;
    const char* const second = number ? strchr(number + 1, ':') : NULL;
    const int further = second ? atoi(second + 1) : 0;
    if (!strncmp(name, "branches", 8)) branches(after, turns, (int)value, further);
    else if (!strncmp(name, "calls", 5)) calls(after, turns);
    else if (!strncmp(name, "chase", 5)) chase(after, turns, (size_t)value << 10);
    else if (!strncmp(name, "gather", 6)) gather(after, turns, (size_t)value << 10);
    else if (!strncmp(name, "stream", 6)) stream(after, turns, (size_t)value << 10);
    else if (!strncmp(name, "forwarding", 10)) forwarding(after, turns, (int)value);
    else if (!strncmp(name, "pages", 5)) pages(after, turns, (size_t)value << 10);
    else if (!strncmp(name, "neighbour", 9)) neighbour(turns, (size_t)value << 10);
    else return 2;
    return 0;
}
