/*
 * tmaprobe/region.h: names regions of a program for tmaprobe. C99 or C++17 with GCC or Clang, on Linux.
 *
 * One file to copy into any tree; nothing is linked. While no tmaprobe listens, a mark is a load and a branch. With
 * -DTMAPROBE_REGIONS_OFF, or on other systems and compilers, it is nothing at all.
 *
 *     TMAPROBE_REGION_BEGIN("parse");
 *     ...
 *     TMAPROBE_REGION_END("parse");                    or, with what it did, for rates:
 *     TMAPROBE_REGION_END_COUNTED("parse", lines, bytes);
 *
 *     TMAPROBE_REGION_SCOPE("parse");                  until the end of the block, in C and C++
 *     tmaprobe::region r("parse"); r.count(lines, bytes);       C++, the same
 *
 *     tmaprobe_region_begin(name); tmaprobe_region_end(name, iterations, bytes);   names that are made at run time
 *
 * Names are texts in UTF-8. Regions may lie in one another and in themselves; each thread has its own. Marks may stand
 * in shared libraries, in signal handlers, and around fork, whose child goes on inside. What does not fit together (an
 * end without a begin, say) is reported by tmaprobe and does nothing else. errno stays as it is.
 *
 * See docs/regions.md of tmaprobe.
 *
 * Licence of this file (MIT No Attribution):
 *
 * Copyright the tmaprobe contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
 * OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
#ifndef TMAPROBE_REGION_H
#define TMAPROBE_REGION_H

/* Whoever copies this file has not to answer for its warnings. */
#pragma GCC system_header

#if !defined(TMAPROBE_REGIONS_OFF) && \
    !(defined(__linux__) && defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__ILP32__))
#define TMAPROBE_REGIONS_OFF 1
#endif

#ifdef TMAPROBE_REGIONS_OFF

#define TMAPROBE_REGION_BEGIN(name) ((void)0)
#define TMAPROBE_REGION_END(name) ((void)0)
#define TMAPROBE_REGION_END_COUNTED(name, iterations, bytes) ((void)(iterations), (void)(bytes))
#define TMAPROBE_REGION_SCOPE(name) ((void)0)
#define tmaprobe_region_begin(name) ((void)(name))
#define tmaprobe_region_end(name, iterations, bytes) ((void)(name), (void)(iterations), (void)(bytes))

#ifdef __cplusplus
namespace tmaprobe {
class region {
  public:
    explicit region(const char*) {}
    region(const region&) = delete;
    region& operator=(const region&) = delete;
    ~region() {}
    void count(unsigned long long, unsigned long long = 0) {}
};
}  // namespace tmaprobe
#endif

#else

#include <stdint.h>

/* ---- What is shared with tmaprobe: a file of this layout, named by the environment variable TMAPROBE_REGIONS. ---- */

#define TMAPROBE_REGION_MAGIC UINT64_C(0x31736e6f69676572) /* "regions1" */
#define TMAPROBE_REGION_NAMES 128   /* regions of a program */
#define TMAPROBE_REGION_NAME 120    /* bytes of a name, with the 0 at its end; longer ones are cut */
#define TMAPROBE_REGION_THREADS 512 /* at a time */
#define TMAPROBE_REGION_DEPTH 120   /* regions in one another */

/* One region on one thread; written by that thread alone. */
struct tmaprobe_region_record_v1 {
    uint64_t begins;     /* the last thing that a begin writes */
    uint64_t ends;       /* the first thing that an end writes */
    uint64_t iterations, bytes;
    uint64_t ticks;      /* of the time stamp counter, from begin to end; of a recursion the outermost */
    uint64_t inner_ticks; /* of these, in regions inside */
    uint64_t open_since; /* ticks; 0: it is not open */
    uint32_t depth;      /* how often it is open */
    uint32_t inside;     /* number of the region that it was first begun in, and 1; 0: in none */
    uint32_t wrong_ends; /* without a begin */
    uint32_t not_ended;  /* before the region around it was */
};

struct tmaprobe_region_slot_v1 {
    uint64_t owner; /* process << 32 | thread; 0: nobody's yet */
    uint64_t image; /* of the program that the process executes: another after exec */
    uint64_t thread; /* address of its struct tmaprobe_region_thread_v1, in the process */
    uint32_t too_many, too_deep; /* begins that there was no room for */
    struct tmaprobe_region_record_v1 records[TMAPROBE_REGION_NAMES];
};

struct tmaprobe_region_name_v1 {
    uint32_t state; /* 0: free, 1: being written, 2: there */
    uint32_t hash;
    char name[TMAPROBE_REGION_NAME];
};

/* Code that is no part of the program. */
struct tmaprobe_region_code_v1 {
    uint64_t owner; /* process << 32; 0: free */
    uint64_t image, begin, end;
};

#define TMAPROBE_REGION_CODES 128

struct tmaprobe_region_page_v1 {
    uint64_t magic, size;
    uint32_t no_time;    /* nobody asks for it: in a copy of the program */
    uint32_t no_room_for; /* begins of threads that found no slot */
    struct tmaprobe_region_code_v1 codes[TMAPROBE_REGION_CODES];
    struct tmaprobe_region_name_v1 names[TMAPROBE_REGION_NAMES];
    struct tmaprobe_region_slot_v1 slots[TMAPROBE_REGION_THREADS];
};

/* ---- What each process has for itself; tmaprobe looks at it there. ---- */

struct tmaprobe_region_open_v1 {
    uint64_t since; /* ticks */
    uint64_t region; /* its number */
};

/* Of one thread; private memory, so that the child of a fork has its own. */
struct tmaprobe_region_thread_v1 {
    struct tmaprobe_region_slot_v1* slot;
    uint64_t depth;
    uint64_t further; /* begins beyond the depth that there is room for */
    struct tmaprobe_region_open_v1 open[TMAPROBE_REGION_DEPTH];
};

#ifndef TMAPROBE_REGION_LAYOUT_ONLY /* tmaprobe itself marks nothing */

#include <stdlib.h>
#include <sys/auxv.h>

/* A place in the source that names a region. */
struct tmaprobe_region_site_v1 {
    const char* name;
    uint32_t number; /* of the region, and 1; 0: not known yet; all ones: there is no room for it */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Each program and each shared library has one of these, however many of its files include this one. */
#define TMAPROBE_REGION_SHARED __attribute__((weak, visibility("hidden")))
#define TMAPROBE_REGION_MARK                                                                             \
    __attribute__((weak, visibility("hidden"), noinline, no_instrument_function, section("tmaprobe_marks")))
#define TMAPROBE_REGION_PART \
    __attribute__((unused, no_instrument_function, section("tmaprobe_marks")))

struct tmaprobe_region_state_v1 {
    int listens; /* 0: not known yet; 1: finding out; 2: nobody; 3: tmaprobe */
    struct tmaprobe_region_page_v1* page;
    uint64_t image;
    volatile uint64_t* generation; /* of processes: 0 in the child of a fork; null: it cannot be told like this */
};

extern struct tmaprobe_region_state_v1 tmaprobe_region_state_v1 TMAPROBE_REGION_SHARED;
struct tmaprobe_region_state_v1 tmaprobe_region_state_v1 = {0, 0, 0, 0};
extern __thread struct tmaprobe_region_thread_v1* tmaprobe_region_thread_v1 TMAPROBE_REGION_SHARED;
__thread struct tmaprobe_region_thread_v1* tmaprobe_region_thread_v1 = 0;
extern __thread uint64_t tmaprobe_region_generation_v1 TMAPROBE_REGION_SHARED;
__thread uint64_t tmaprobe_region_generation_v1 = 0;

/* Where the linker puts this section. */
extern const char __start_tmaprobe_marks[] __attribute__((visibility("hidden")));
extern const char __stop_tmaprobe_marks[] __attribute__((visibility("hidden")));

/* By this a program that has marks is known before it is started. */
__asm__(
    ".pushsection .note.tmaprobe,\"a\",%note\n"
    ".balign 4\n"
    ".long 9, 4, 1\n"
    ".asciz \"tmaprobe\"\n"
    ".balign 4\n"
    ".long 1\n"
    ".popsection\n");

#if defined(__x86_64__)
#define TMAPROBE_REGION_CALL_mmap 9
#define TMAPROBE_REGION_CALL_munmap 11
#define TMAPROBE_REGION_CALL_lseek 8
#define TMAPROBE_REGION_CALL_close 3
#define TMAPROBE_REGION_CALL_madvise 28
#define TMAPROBE_REGION_CALL_getpid 39
#define TMAPROBE_REGION_CALL_gettid 186
#define TMAPROBE_REGION_CALL_tgkill 234
#define TMAPROBE_REGION_CALL_openat 257
#define TMAPROBE_REGION_CALL_sched_yield 24
#else
#define TMAPROBE_REGION_CALL_mmap 222
#define TMAPROBE_REGION_CALL_munmap 215
#define TMAPROBE_REGION_CALL_lseek 62
#define TMAPROBE_REGION_CALL_close 57
#define TMAPROBE_REGION_CALL_madvise 233
#define TMAPROBE_REGION_CALL_getpid 172
#define TMAPROBE_REGION_CALL_gettid 178
#define TMAPROBE_REGION_CALL_tgkill 131
#define TMAPROBE_REGION_CALL_openat 56
#define TMAPROBE_REGION_CALL_sched_yield 124
#endif

/* A system call without the C library: errno stays as it is, and no feature macros are needed. */
TMAPROBE_REGION_PART static long tmaprobe_region_call_v1(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}

TMAPROBE_REGION_PART static uint64_t tmaprobe_region_ticks_v1(const struct tmaprobe_region_page_v1* page) {
    if (__atomic_load_n(&page->no_time, __ATOMIC_RELAXED)) return 1;
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

TMAPROBE_REGION_PART static void* tmaprobe_region_map_v1(unsigned long bytes, long flags, long file) {
    const long at = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_mmap, 0, (long)bytes, 3 /* read and write */, flags,
                                            file, 0);
    return at < 0 && at > -4096 ? (void*)0 : (void*)at;
}

/* Asks once whether tmaprobe listens. */
TMAPROBE_REGION_MARK int tmaprobe_region_listens_v1(void);
int tmaprobe_region_listens_v1(void) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    int expected = 0, tries, listens = 2;
    const char* path;
    long file;
    struct tmaprobe_region_page_v1* page;
    if (!__atomic_compare_exchange_n(&state->listens, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        /* Another thread is about to know; a signal handler that has interrupted it never would. */
        for (tries = 0; tries < 10000 && __atomic_load_n(&state->listens, __ATOMIC_ACQUIRE) == 1; ++tries)
            tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_sched_yield, 0, 0, 0, 0, 0, 0);
        return __atomic_load_n(&state->listens, __ATOMIC_ACQUIRE) == 3;
    }
    path = getauxval(AT_SECURE) ? (const char*)0 : getenv("TMAPROBE_REGIONS");
    if (path && path[0] == '/') {
        file = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_openat, -100, (long)path,
                                       02 /* read and write */ | 02000000 /* closed by exec */ | 04000 /* no wait */, 0,
                                       0, 0);
        if (file >= 0) {
            page = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_lseek, file, 0, 2, 0, 0, 0) == (long)sizeof *page
                       ? (struct tmaprobe_region_page_v1*)tmaprobe_region_map_v1(sizeof *page, 1 /* shared */, file)
                       : (struct tmaprobe_region_page_v1*)0;
            tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_close, file, 0, 0, 0, 0, 0);
            if (page && (page->magic != TMAPROBE_REGION_MAGIC || page->size != sizeof *page)) {
                tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_munmap, (long)page, (long)sizeof *page, 0, 0, 0, 0);
                page = (struct tmaprobe_region_page_v1*)0;
            }
            if (page) {
                const uint64_t* const random = (const uint64_t*)getauxval(AT_RANDOM);
                state->page = page;
                state->image = random ? *random | 1 : 1;
                state->generation = (volatile uint64_t*)tmaprobe_region_map_v1(4096, 0x22 /* private, no file */, -1);
                if (state->generation &&
                    tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_madvise, (long)state->generation, 4096,
                                            18 /* zeros after fork */, 0, 0, 0) != 0)
                    state->generation = (volatile uint64_t*)0;
                listens = 3;
            }
        }
    }
    __atomic_store_n(&state->listens, listens, __ATOMIC_RELEASE);
    return listens == 3;
}

/* Tells where the marks of this program or library are. */
TMAPROBE_REGION_PART static void tmaprobe_region_tell_code_v1(uint64_t process) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    int i;
    for (i = 0; i < TMAPROBE_REGION_CODES; ++i) {
        struct tmaprobe_region_code_v1* const code = &state->page->codes[i];
        uint64_t nobody = 0;
        if (!__atomic_compare_exchange_n(&code->owner, &nobody, process << 32, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        code->image = state->image;
        code->begin = (uint64_t)__start_tmaprobe_marks;
        __atomic_store_n(&code->end, (uint64_t)__stop_tmaprobe_marks, __ATOMIC_RELEASE);
        return;
    }
}

/* The slot of this thread, which another program or library of the process may have found before. */
TMAPROBE_REGION_PART static struct tmaprobe_region_slot_v1* tmaprobe_region_find_slot_v1(uint64_t process,
                                                                                       uint64_t thread) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    const uint64_t owner = process << 32 | thread;
    int i, pass, k;
    for (i = 0; i < TMAPROBE_REGION_THREADS; ++i) {
        struct tmaprobe_region_slot_v1* const slot = &state->page->slots[i];
        if (__atomic_load_n(&slot->owner, __ATOMIC_RELAXED) == owner && slot->image == state->image) return slot;
        if (!__atomic_load_n(&slot->owner, __ATOMIC_RELAXED)) break;
    }
    /* A free one; else that of a thread that is gone: what it has counted stays. */
    for (pass = 0; pass < 2; ++pass)
        for (i = 0; i < TMAPROBE_REGION_THREADS; ++i) {
            struct tmaprobe_region_slot_v1* const slot = &state->page->slots[i];
            uint64_t is = __atomic_load_n(&slot->owner, __ATOMIC_RELAXED);
            if (pass == 0 ? is != 0
                          : tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_tgkill, (long)(is >> 32),
                                                    (long)(is & 0xffffffffu), 0, 0, 0, 0) != -3 /* no such thread */)
                continue;
            if (!__atomic_compare_exchange_n(&slot->owner, &is, owner, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            slot->image = state->image;
            slot->thread = 0;
            for (k = 0; k < TMAPROBE_REGION_NAMES; ++k) slot->records[k].depth = 0;
            return slot;
        }
    return (struct tmaprobe_region_slot_v1*)0;
}

/* The first mark of a thread, or of a process after fork. */
TMAPROBE_REGION_MARK struct tmaprobe_region_thread_v1* tmaprobe_region_attach_v1(uint64_t generation);
struct tmaprobe_region_thread_v1* tmaprobe_region_attach_v1(uint64_t generation) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    const uint64_t process = (uint64_t)tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_getpid, 0, 0, 0, 0, 0, 0);
    const uint64_t thread = (uint64_t)tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_gettid, 0, 0, 0, 0, 0, 0);
    /* In the child of a fork: what was open there is open here. */
    struct tmaprobe_region_thread_v1* inherited = tmaprobe_region_thread_v1;
    struct tmaprobe_region_slot_v1* slot;
    uint64_t i;
    if (generation != process) {
        if (state->generation) *state->generation = process;
        tmaprobe_region_tell_code_v1(process);
    }
    tmaprobe_region_generation_v1 = process;
    tmaprobe_region_thread_v1 = (struct tmaprobe_region_thread_v1*)0;
    slot = tmaprobe_region_find_slot_v1(process, thread);
    if (!slot) {
        __atomic_fetch_add(&state->page->no_room_for, 1, __ATOMIC_RELAXED);
        return (struct tmaprobe_region_thread_v1*)0;
    }
    if (!slot->thread) {
        if (!inherited)
            inherited = (struct tmaprobe_region_thread_v1*)tmaprobe_region_map_v1(sizeof *inherited, 0x22, -1);
        if (!inherited) return (struct tmaprobe_region_thread_v1*)0;
        inherited->slot = slot;
        for (i = 0; i < inherited->depth; ++i) {
            struct tmaprobe_region_record_v1* const record = &slot->records[inherited->open[i].region];
            inherited->open[i].since = tmaprobe_region_ticks_v1(state->page);
            if (record->depth++ == 0) record->open_since = inherited->open[i].since;
        }
        __atomic_store_n(&slot->thread, (uint64_t)inherited, __ATOMIC_RELEASE);
    }
    tmaprobe_region_thread_v1 = (struct tmaprobe_region_thread_v1*)slot->thread;
    return tmaprobe_region_thread_v1;
}

TMAPROBE_REGION_PART static struct tmaprobe_region_thread_v1* tmaprobe_region_this_thread_v1(void) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    uint64_t generation;
    if (__atomic_load_n(&state->listens, __ATOMIC_ACQUIRE) != 3 && !tmaprobe_region_listens_v1())
        return (struct tmaprobe_region_thread_v1*)0;
    generation = state->generation
                     ? *state->generation
                     : (uint64_t)tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_getpid, 0, 0, 0, 0, 0, 0);
    if (tmaprobe_region_thread_v1 && generation && tmaprobe_region_generation_v1 == generation)
        return tmaprobe_region_thread_v1;
    return tmaprobe_region_attach_v1(generation);
}

/* The number of a region, and 1; all ones: there is no room for it. */
TMAPROBE_REGION_MARK uint32_t tmaprobe_region_number_v1(const char* name);
uint32_t tmaprobe_region_number_v1(const char* name) {
    struct tmaprobe_region_page_v1* const page = tmaprobe_region_state_v1.page;
    uint32_t hash = 2166136261u, number, tries;
    const char* at;
    unsigned k;
    if (!name) name = "";
    for (at = name; *at; ++at) hash = (hash ^ (unsigned char)*at) * 16777619u;
    for (number = 0; number < TMAPROBE_REGION_NAMES; ++number) {
        struct tmaprobe_region_name_v1* const entry = &page->names[number];
        uint32_t is = 0;
        if (__atomic_compare_exchange_n(&entry->state, &is, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            for (k = 0; k + 1 < TMAPROBE_REGION_NAME && name[k]; ++k) ((volatile char*)entry->name)[k] = name[k];
            entry->hash = hash;
            __atomic_store_n(&entry->state, 2, __ATOMIC_RELEASE);
            return number + 1;
        }
        for (tries = 0; tries < 1000 && __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == 1; ++tries)
            tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_sched_yield, 0, 0, 0, 0, 0, 0);
        if (entry->hash != hash) continue;
        for (k = 0; k + 1 < TMAPROBE_REGION_NAME && name[k] && entry->name[k] == name[k]; ++k) {
        }
        if (k + 1 >= TMAPROBE_REGION_NAME || entry->name[k] == name[k]) return number + 1;
    }
    return ~(uint32_t)0;
}

TMAPROBE_REGION_PART static uint32_t tmaprobe_region_of_site_v1(struct tmaprobe_region_site_v1* site) {
    uint32_t number = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    if (!number) {
        number = tmaprobe_region_number_v1(site->name);
        __atomic_store_n(&site->number, number, __ATOMIC_RELAXED);
    }
    return number;
}

TMAPROBE_REGION_PART static void tmaprobe_region_enter_v1(struct tmaprobe_region_thread_v1* thread, uint32_t number) {
    struct tmaprobe_region_slot_v1* const slot = thread->slot;
    struct tmaprobe_region_record_v1* record;
    struct tmaprobe_region_open_v1* open;
    uint64_t now, depth;
    if (number == ~(uint32_t)0) {
        ++slot->too_many;
        return;
    }
    depth = thread->depth;
    if (depth >= TMAPROBE_REGION_DEPTH) {
        ++thread->further;
        ++slot->too_deep;
        return;
    }
    /* A signal handler's marks come after this one, or between these lines: first the room, then what is in it. */
    *(volatile uint64_t*)&thread->depth = depth + 1;
    open = &thread->open[depth];
    record = &slot->records[number - 1];
    now = tmaprobe_region_ticks_v1(tmaprobe_region_state_v1.page);
    open->since = now;
    *(volatile uint64_t*)&open->region = number - 1;
    if (!record->begins && depth) record->inside = (uint32_t)open[-1].region + 1;
    if (record->depth++ == 0) record->open_since = now;
    *(volatile uint64_t*)&record->begins = record->begins + 1;
}

/* The innermost open region ends. */
TMAPROBE_REGION_PART static void tmaprobe_region_close_v1(struct tmaprobe_region_thread_v1* thread, uint64_t now,
                                                         int ended) {
    struct tmaprobe_region_open_v1* const open = &thread->open[thread->depth - 1];
    struct tmaprobe_region_record_v1* const record = &thread->slot->records[open->region];
    const uint64_t ticks = now - open->since;
    *(volatile uint64_t*)&record->ends = record->ends + 1;
    if (!ended) ++record->not_ended;
    if (record->depth && --record->depth == 0) {
        record->ticks += ticks;
        record->open_since = 0;
    } else {
        record->inner_ticks -= ticks; /* what is in it counts once */
    }
    if (thread->depth > 1) thread->slot->records[open[-1].region].inner_ticks += ticks;
    *(volatile uint64_t*)&thread->depth = thread->depth - 1;
}

TMAPROBE_REGION_PART static void tmaprobe_region_leave_v1(struct tmaprobe_region_thread_v1* thread, uint32_t number,
                                                         uint64_t iterations, uint64_t bytes) {
    struct tmaprobe_region_record_v1* record;
    uint64_t now, place;
    if (number == ~(uint32_t)0) return;
    if (thread->further) {
        --thread->further;
        return;
    }
    record = &thread->slot->records[number - 1];
    place = thread->depth;
    while (place && thread->open[place - 1].region != number - 1) --place;
    if (!place) {
        ++record->wrong_ends;
        return;
    }
    now = tmaprobe_region_ticks_v1(tmaprobe_region_state_v1.page);
    while (thread->depth > place) tmaprobe_region_close_v1(thread, now, 0);
    record->iterations += iterations;
    record->bytes += bytes;
    tmaprobe_region_close_v1(thread, now, 1);
}

TMAPROBE_REGION_MARK void tmaprobe_region_begin_v1(struct tmaprobe_region_site_v1* site);
void tmaprobe_region_begin_v1(struct tmaprobe_region_site_v1* site) {
    struct tmaprobe_region_thread_v1* const thread = tmaprobe_region_this_thread_v1();
    if (thread) tmaprobe_region_enter_v1(thread, tmaprobe_region_of_site_v1(site));
}

TMAPROBE_REGION_MARK void tmaprobe_region_end_v1(struct tmaprobe_region_site_v1* site, uint64_t iterations,
                                                uint64_t bytes);
void tmaprobe_region_end_v1(struct tmaprobe_region_site_v1* site, uint64_t iterations, uint64_t bytes) {
    struct tmaprobe_region_thread_v1* const thread = tmaprobe_region_this_thread_v1();
    if (thread) tmaprobe_region_leave_v1(thread, tmaprobe_region_of_site_v1(site), iterations, bytes);
}

/* The same by name alone, which is looked for each time. */
TMAPROBE_REGION_MARK void tmaprobe_region_begin_named_v1(const char* name);
void tmaprobe_region_begin_named_v1(const char* name) {
    struct tmaprobe_region_thread_v1* const thread = tmaprobe_region_this_thread_v1();
    if (thread) tmaprobe_region_enter_v1(thread, tmaprobe_region_number_v1(name));
}

TMAPROBE_REGION_MARK void tmaprobe_region_end_named_v1(const char* name, uint64_t iterations, uint64_t bytes);
void tmaprobe_region_end_named_v1(const char* name, uint64_t iterations, uint64_t bytes) {
    struct tmaprobe_region_thread_v1* const thread = tmaprobe_region_this_thread_v1();
    if (thread) tmaprobe_region_leave_v1(thread, tmaprobe_region_number_v1(name), iterations, bytes);
}

#define TMAPROBE_REGION_LISTENS() \
    __builtin_expect(__atomic_load_n(&tmaprobe_region_state_v1.listens, __ATOMIC_RELAXED) != 2, 0)

static inline __attribute__((unused)) void tmaprobe_region_begin(const char* name) {
    if (TMAPROBE_REGION_LISTENS()) tmaprobe_region_begin_named_v1(name);
}
static inline __attribute__((unused)) void tmaprobe_region_end(const char* name, uint64_t iterations, uint64_t bytes) {
    if (TMAPROBE_REGION_LISTENS()) tmaprobe_region_end_named_v1(name, iterations, bytes);
}
static inline __attribute__((unused)) void tmaprobe_region_end_scope_v1(struct tmaprobe_region_site_v1* const* site) {
    if (TMAPROBE_REGION_LISTENS()) tmaprobe_region_end_v1(*site, 0, 0);
}

#define TMAPROBE_REGION_BEGIN(name)                                                   \
    do {                                                                              \
        static struct tmaprobe_region_site_v1 tmaprobe_region_site = {(name), 0};     \
        if (TMAPROBE_REGION_LISTENS()) tmaprobe_region_begin_v1(&tmaprobe_region_site); \
    } while (0)
#define TMAPROBE_REGION_END(name) TMAPROBE_REGION_END_COUNTED(name, 0, 0)
#define TMAPROBE_REGION_END_COUNTED(name, iterations, bytes)                                                   \
    do {                                                                                                       \
        static struct tmaprobe_region_site_v1 tmaprobe_region_site = {(name), 0};                              \
        if (TMAPROBE_REGION_LISTENS())                                                                         \
            tmaprobe_region_end_v1(&tmaprobe_region_site, (uint64_t)(iterations), (uint64_t)(bytes));          \
    } while (0)

#define TMAPROBE_REGION_JOIN2(a, b) a##b
#define TMAPROBE_REGION_JOIN(a, b) TMAPROBE_REGION_JOIN2(a, b)
#define TMAPROBE_REGION_SCOPE_NAMED(name, site, scope)                                                  \
    static struct tmaprobe_region_site_v1 site = {(name), 0};                                           \
    struct tmaprobe_region_site_v1* const scope                                                         \
        __attribute__((cleanup(tmaprobe_region_end_scope_v1), unused)) = &site;                         \
    if (TMAPROBE_REGION_LISTENS()) tmaprobe_region_begin_v1(&site)
#define TMAPROBE_REGION_SCOPE(name)                                                             \
    TMAPROBE_REGION_SCOPE_NAMED(name, TMAPROBE_REGION_JOIN(tmaprobe_region_site_, __LINE__), \
                                TMAPROBE_REGION_JOIN(tmaprobe_region_scope_, __LINE__))

#ifdef __cplusplus
} /* extern "C" */

namespace tmaprobe {

/// From here to the end of the block. The name is to outlive it.
class region {
  public:
    explicit region(const char* name) : name_(name) { tmaprobe_region_begin(name_); }
    region(const region&) = delete;
    region& operator=(const region&) = delete;
    ~region() { tmaprobe_region_end(name_, iterations_, bytes_); }
    /// What it has done, for rates; adds up.
    void count(uint64_t iterations, uint64_t bytes = 0) {
        iterations_ += iterations;
        bytes_ += bytes;
    }

  private:
    const char* name_;
    uint64_t iterations_ = 0, bytes_ = 0;
};

}  // namespace tmaprobe
#endif

#endif /* TMAPROBE_REGION_LAYOUT_ONLY */
#endif /* TMAPROBE_REGIONS_OFF */
#endif /* TMAPROBE_REGION_H */
