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
#define TMAPROBE_REGION_EVENTS 64   /* that are counted */
#define TMAPROBE_REGION_SUMS 4096   /* of what was counted: one for each region on each thread */

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
    uint32_t sums;       /* number of its sums, and 1; 0: none yet; all ones: there is no room for it */
    uint32_t unused;
};

struct tmaprobe_region_slot_v1 {
    uint64_t owner; /* process << 32 | thread; 0: nobody's yet */
    uint64_t image; /* of the program that the process executes: another after exec */
    uint64_t thread; /* address of its struct tmaprobe_region_thread_v1, in the process */
    uint32_t too_many, too_deep; /* begins that there was no room for */
    uint64_t counters;           /* address of its struct tmaprobe_region_counters_v1, in the process; 0: none */
    uint64_t marks_ns;           /* that reading counters took */
    uint64_t unread;             /* marks of signal handlers that came while counters were read */
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

/* An event that each thread with regions counts for itself. The first is one of the kernel's that is there whenever the
   thread is on a CPU: it tells that time where it can be read without a system call. */
struct tmaprobe_region_event_v1 {
    uint32_t leader;               /* index of its group's first event */
    uint32_t refused;              /* errno with which it could not be opened; 0: it could */
    unsigned char attributes[144]; /* struct perf_event_attr */
};

struct tmaprobe_region_sum_v1 {
    uint64_t value, running_ns;
    uint64_t pieces; /* from one reading to the next, in which it had a counter */
    uint64_t empty, empty_pieces; /* of nothing: two readings with no code between them */
};

/* What was counted in one region on one thread, with regions inside. */
struct tmaprobe_region_sums_v1 {
    uint64_t enabled_ns; /* that the thread was on a CPU; less what reading took */
    uint64_t pieces;
    uint64_t own_ns, own_pieces; /* of it in no region inside */
    uint64_t empty_ns, empty_pieces;
    struct tmaprobe_region_sum_v1 events[TMAPROBE_REGION_EVENTS];
};

struct tmaprobe_region_page_v1 {
    uint64_t magic, size;
    uint32_t no_time;    /* nobody asks for it: in a copy of the program */
    uint32_t no_room_for; /* begins of threads that found no slot */
    uint32_t event_count;     /* 0: nothing is counted */
    uint32_t from_user_space; /* counters may be read without a system call */
    uint32_t seccomp;         /* whether system calls are filtered already where tmaprobe runs */
    uint32_t sums_used, no_room_for_sums;
    uint32_t threads_counted, threads_refused; /* that could open events, and that could open none */
    uint32_t readings_failed;
    struct tmaprobe_region_event_v1 events[TMAPROBE_REGION_EVENTS];
    struct tmaprobe_region_code_v1 codes[TMAPROBE_REGION_CODES];
    struct tmaprobe_region_name_v1 names[TMAPROBE_REGION_NAMES];
    struct tmaprobe_region_slot_v1 slots[TMAPROBE_REGION_THREADS];
    struct tmaprobe_region_sums_v1 sums[TMAPROBE_REGION_SUMS];
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
    struct tmaprobe_region_counters_v1* counters; /* null: nothing is counted */
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
#define TMAPROBE_REGION_CALL_read 0
#define TMAPROBE_REGION_CALL_fcntl 72
#define TMAPROBE_REGION_CALL_prctl 157
#define TMAPROBE_REGION_CALL_perf_event_open 298
#define TMAPROBE_REGION_CALL_prlimit64 302
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
#define TMAPROBE_REGION_CALL_read 63
#define TMAPROBE_REGION_CALL_fcntl 25
#define TMAPROBE_REGION_CALL_prctl 167
#define TMAPROBE_REGION_CALL_perf_event_open 241
#define TMAPROBE_REGION_CALL_prlimit64 261
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

/* ---- Counters: each thread opens those that tmaprobe asks for, and reads them at its marks. ---- */

/* What the kernel shows of an event: the beginning of its struct perf_event_mmap_page, of which not every system has
   the header. */
struct tmaprobe_region_perf_v1 {
    uint32_t version, compatible;
    uint32_t lock, index;
    int64_t offset;
    uint64_t time_enabled, time_running;
    uint64_t capabilities; /* 4: counters can be read here; 8: and time; 32: of a clock that is not as wide */
    uint16_t width, time_shift;
    uint32_t time_factor;
    uint64_t time_offset, time_zero;
    uint32_t size, reserved;
    uint64_t time_cycles, time_mask;
};

struct tmaprobe_region_counter_v1 {
    const volatile struct tmaprobe_region_perf_v1* page; /* null: it is read by a system call */
    long file;                                           /* below 0: none */
    uint32_t open, leader;                               /* leader: index of its group's first event */
    uint64_t value[2], running_ns[2];                    /* at the last mark's end, at this one's begin; of leaders */
};

/* Of one thread; private memory. */
struct tmaprobe_region_counters_v1 {
    uint32_t count, mapped;
    volatile uint32_t busy; /* a mark reads them: what a signal handler marks meanwhile is not told apart */
    int valid[2];
    uint64_t enabled_ns[2];
    struct tmaprobe_region_counter_v1 events[TMAPROBE_REGION_EVENTS];
};

TMAPROBE_REGION_PART static uint64_t tmaprobe_region_read_counter_v1(uint32_t counter) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
#else
    uint64_t value = 0;
#define TMAPROBE_REGION_CASE(n)                                          \
    case n:                                                              \
        __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
        break;
    switch (counter) {
        TMAPROBE_REGION_CASE(0)
        TMAPROBE_REGION_CASE(1)
        TMAPROBE_REGION_CASE(2)
        TMAPROBE_REGION_CASE(3)
        TMAPROBE_REGION_CASE(4)
        TMAPROBE_REGION_CASE(5)
        TMAPROBE_REGION_CASE(6)
        TMAPROBE_REGION_CASE(7)
        TMAPROBE_REGION_CASE(8)
        TMAPROBE_REGION_CASE(9)
        TMAPROBE_REGION_CASE(10)
        TMAPROBE_REGION_CASE(11)
        TMAPROBE_REGION_CASE(12)
        TMAPROBE_REGION_CASE(13)
        TMAPROBE_REGION_CASE(14)
        TMAPROBE_REGION_CASE(15)
        TMAPROBE_REGION_CASE(16)
        TMAPROBE_REGION_CASE(17)
        TMAPROBE_REGION_CASE(18)
        TMAPROBE_REGION_CASE(19)
        TMAPROBE_REGION_CASE(20)
        TMAPROBE_REGION_CASE(21)
        TMAPROBE_REGION_CASE(22)
        TMAPROBE_REGION_CASE(23)
        TMAPROBE_REGION_CASE(24)
        TMAPROBE_REGION_CASE(25)
        TMAPROBE_REGION_CASE(26)
        TMAPROBE_REGION_CASE(27)
        TMAPROBE_REGION_CASE(28)
        TMAPROBE_REGION_CASE(29)
        TMAPROBE_REGION_CASE(30)
        case 31:
            __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
            break;
        default:
            break;
    }
#undef TMAPROBE_REGION_CASE
    return value;
#endif
}

/* Nanoseconds since the kernel has written the times of this page. */
TMAPROBE_REGION_PART static uint64_t tmaprobe_region_since_v1(const volatile struct tmaprobe_region_perf_v1* page) {
    uint64_t ticks, rest;
    unsigned shift;
#if defined(__x86_64__)
    ticks = __builtin_ia32_rdtsc();
#else
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
#endif
    if (page->capabilities & 32) ticks = page->time_cycles + ((ticks - page->time_cycles) & page->time_mask);
    shift = page->time_shift;
    rest = ticks & ((UINT64_C(1) << shift) - 1);
    return page->time_offset + (ticks >> shift) * page->time_factor + (rest * page->time_factor >> shift);
}

/* All events from the pages that the kernel keeps. One that has no counter now has its count there, too, up to when it
   lost it; the first one always tells the time. */
TMAPROBE_REGION_PART static int tmaprobe_region_read_pages_v1(struct tmaprobe_region_counters_v1* counters, int at) {
    uint32_t i;
    for (i = 0; i < counters->count; ++i) {
        struct tmaprobe_region_counter_v1* const event = &counters->events[i];
        const volatile struct tmaprobe_region_perf_v1* const page = event->page;
        uint32_t lock, index;
        uint64_t value, running = 0, enabled = 0;
        if (!event->open) {
            if (i == 0) return 0;
            continue;
        }
        do {
            lock = page->lock;
            __asm__ volatile("" ::: "memory");
            index = page->index;
            value = (uint64_t)page->offset;
            if (event->leader == i) {
                running = page->time_running;
                if (index || i == 0) {
                    const uint64_t since = tmaprobe_region_since_v1(page);
                    running += since;
                    enabled = page->time_enabled + since;
                }
            }
            if (index && (page->capabilities & 4)) {
                const unsigned unused = 64u - page->width;
                value += (uint64_t)((int64_t)(tmaprobe_region_read_counter_v1(index - 1) << unused) >> unused);
            }
            __asm__ volatile("" ::: "memory");
        } while (page->lock != lock || lock & 1);
        event->value[at] = value;
        if (event->leader != i) continue;
        event->running_ns[at] = running;
        if (i == 0) counters->enabled_ns[at] = enabled;
    }
    return 1;
}

/* All events by a system call for each group. 0: some could not be read (the program has closed its files). */
TMAPROBE_REGION_PART static int tmaprobe_region_read_files_v1(struct tmaprobe_region_counters_v1* counters, int at) {
    uint64_t counts[3 + TMAPROBE_REGION_EVENTS]; /* how many, time enabled, time running, counts */
    uint32_t leader, i, k;
    int known = 0;
    for (leader = 0; leader < counters->count; ++leader) {
        struct tmaprobe_region_counter_v1* const first = &counters->events[leader];
        long got;
        if (!first->open || first->leader != leader) continue;
        got = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_read, first->file, (long)counts, (long)sizeof counts, 0, 0, 0);
        if (got < 24 || counts[0] > TMAPROBE_REGION_EVENTS || got != (long)(8 * (3 + counts[0]))) return 0;
        for (i = leader, k = 0; i < counters->count; ++i)
            if (counters->events[i].open && counters->events[i].leader == leader) {
                if (k == counts[0]) return 0;
                counters->events[i].value[at] = counts[3 + k++];
            }
        first->running_ns[at] = counts[2];
        if (!known) counters->enabled_ns[at] = counts[1];
        known = 1;
    }
    return known;
}

TMAPROBE_REGION_PART static void tmaprobe_region_read_v1(struct tmaprobe_region_counters_v1* counters, int at) {
    counters->valid[at] = counters->mapped ? tmaprobe_region_read_pages_v1(counters, at)
                                           : tmaprobe_region_read_files_v1(counters, at);
    if (!counters->valid[at])
        __atomic_fetch_add(&tmaprobe_region_state_v1.page->readings_failed, 1, __ATOMIC_RELAXED);
}

TMAPROBE_REGION_PART static struct tmaprobe_region_sums_v1* tmaprobe_region_sums_of_v1(uint32_t* number) {
    struct tmaprobe_region_page_v1* const page = tmaprobe_region_state_v1.page;
    if (!*number) {
        const uint32_t next = __atomic_fetch_add(&page->sums_used, 1, __ATOMIC_RELAXED);
        *number = next < TMAPROBE_REGION_SUMS ? next + 1 : ~(uint32_t)0;
    }
    if (*number == ~(uint32_t)0) {
        __atomic_fetch_add(&page->no_room_for_sums, 1, __ATOMIC_RELAXED);
        return (struct tmaprobe_region_sums_v1*)0;
    }
    return &page->sums[*number - 1];
}

/* Adds what was counted between the two readings. */
TMAPROBE_REGION_PART static void tmaprobe_region_add_v1(const struct tmaprobe_region_counters_v1* counters,
                                                       struct tmaprobe_region_sums_v1* sums, int empty) {
    const uint64_t enabled = counters->enabled_ns[1] - counters->enabled_ns[0];
    uint32_t i;
    if (!sums) return;
    if (empty) {
        sums->empty_ns += enabled;
        ++sums->empty_pieces;
    } else {
        sums->enabled_ns += enabled;
        ++sums->pieces;
    }
    for (i = 0; i < counters->count; ++i) {
        const struct tmaprobe_region_counter_v1* const event = &counters->events[i];
        const struct tmaprobe_region_counter_v1* const leader = &counters->events[event->leader];
        const uint64_t running = leader->running_ns[1] - leader->running_ns[0];
        const uint64_t value = event->value[1] - event->value[0];
        if (!event->open || !running || (int64_t)running < 0 || (int64_t)value < 0) continue;
        if (empty) {
            sums->events[i].empty += value;
            ++sums->events[i].empty_pieces;
            continue;
        }
        sums->events[i].value += value;
        sums->events[i].running_ns += running;
        ++sums->events[i].pieces;
    }
}

/* A mark begins: what was counted since the last one goes to all regions that are open, to each once. */
TMAPROBE_REGION_PART static struct tmaprobe_region_counters_v1* tmaprobe_region_stop_v1(
    struct tmaprobe_region_thread_v1* thread) {
    struct tmaprobe_region_counters_v1* const counters = thread->counters;
    struct tmaprobe_region_slot_v1* const slot = thread->slot;
    struct tmaprobe_region_sums_v1* sums;
    uint64_t i, k;
    if (!counters) return counters;
    if (counters->busy) {
        ++slot->unread;
        return (struct tmaprobe_region_counters_v1*)0;
    }
    counters->busy = 1;
    tmaprobe_region_read_v1(counters, 1);
    if (!counters->valid[0] || !counters->valid[1] || counters->enabled_ns[1] < counters->enabled_ns[0])
        return counters;
    for (i = 0; i < thread->depth; ++i) {
        for (k = 0; k < i && thread->open[k].region != thread->open[i].region; ++k) {
        }
        if (k == i)
            tmaprobe_region_add_v1(counters, tmaprobe_region_sums_of_v1(&slot->records[thread->open[i].region].sums), 0);
    }
    if (thread->depth) {
        sums = tmaprobe_region_sums_of_v1(&slot->records[thread->open[thread->depth - 1].region].sums);
        if (sums) {
            sums->own_ns += counters->enabled_ns[1] - counters->enabled_ns[0];
            ++sums->own_pieces;
        }
    }
    return counters;
}

/* A mark ends. Now and then it reads twice, to know what a reading counts of itself in the region that is open then. */
TMAPROBE_REGION_PART static void tmaprobe_region_go_on_v1(struct tmaprobe_region_thread_v1* thread,
                                                         struct tmaprobe_region_counters_v1* counters) {
    const uint64_t begun = counters->enabled_ns[1];
    const int known = counters->valid[1];
    struct tmaprobe_region_sums_v1* sums = (struct tmaprobe_region_sums_v1*)0;
    if (thread->depth)
        sums = tmaprobe_region_sums_of_v1(&thread->slot->records[thread->open[thread->depth - 1].region].sums);
    tmaprobe_region_read_v1(counters, 0);
    if (sums && (sums->empty_pieces < 32 || sums->empty_pieces * 16 < sums->own_pieces)) {
        tmaprobe_region_read_v1(counters, 1);
        if (counters->valid[0] && counters->valid[1] && counters->enabled_ns[1] >= counters->enabled_ns[0])
            tmaprobe_region_add_v1(counters, sums, 1);
        tmaprobe_region_read_v1(counters, 0);
    }
    if (known && counters->valid[0] && counters->enabled_ns[0] > begun)
        thread->slot->marks_ns += counters->enabled_ns[0] - begun;
    counters->busy = 0;
}

TMAPROBE_REGION_PART static void tmaprobe_region_close_counters_v1(struct tmaprobe_region_counters_v1* counters,
                                                                  int mapped_here) {
    uint32_t i;
    for (i = 0; i < counters->count; ++i) {
        struct tmaprobe_region_counter_v1* const event = &counters->events[i];
        if (event->page && mapped_here)
            tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_munmap, (long)event->page, 4096, 0, 0, 0, 0);
        if (event->file >= 0) tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_close, event->file, 0, 0, 0, 0, 0);
        event->page = (const volatile struct tmaprobe_region_perf_v1*)0;
        event->file = -1;
        event->open = 0;
    }
}

/* Out of the way: programs expect the next file that they open to have the lowest number. */
TMAPROBE_REGION_PART static long tmaprobe_region_move_file_v1(long file) {
    uint64_t limits[2] = {1024, 1024};
    long moved;
    tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_prlimit64, 0, 7 /* files */, 0, (long)limits, 0, 0);
    moved = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_fcntl, file, 1030 /* another number, closed by exec */,
                                    limits[0] > 65536 ? 32768 : (long)(limits[0] / 2), 0, 0, 0);
    tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_close, file, 0, 0, 0, 0, 0);
    return moved;
}

/* 1: at least one event is open. */
TMAPROBE_REGION_PART static int tmaprobe_region_open_events_v1(struct tmaprobe_region_counters_v1* counters,
                                                              int mapped) {
    struct tmaprobe_region_page_v1* const page = tmaprobe_region_state_v1.page;
    uint32_t i;
    int any = 0;
    counters->mapped = (uint32_t)mapped;
    for (i = mapped ? 0 : 1; i < counters->count; ++i) {
        struct tmaprobe_region_counter_v1* const event = &counters->events[i];
        const struct tmaprobe_region_counter_v1* const leader = &counters->events[page->events[i].leader];
        long file, group = page->events[i].leader != i && leader->open ? leader->file : -1;
        event->file = -1;
        event->leader = group >= 0 ? page->events[i].leader : i;
        file = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_perf_event_open, (long)page->events[i].attributes, 0, -1,
                                       group, 8 /* closed by exec */, 0);
        if (file < 0 && group >= 0) { /* a group as large as that cannot be had: it counts by itself */
            event->leader = i;
            file = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_perf_event_open, (long)page->events[i].attributes, 0,
                                           -1, -1, 8, 0);
        }
        if (file >= 0) file = tmaprobe_region_move_file_v1(file);
        if (file < 0) {
            if (i == 0) return 0;
            __atomic_store_n(&page->events[i].refused, (uint32_t)-file, __ATOMIC_RELAXED);
            continue;
        }
        event->file = file;
        event->open = 1;
        any |= i > 0;
        if (mapped) {
            const long at = tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_mmap, 0, 4096, 1 /* read */, 1 /* shared */,
                                                    file, 0);
            if (at < 0 && at > -4096) return 0;
            event->page = (const volatile struct tmaprobe_region_perf_v1*)at;
            if (!(event->page->capabilities & (i == 0 ? 8 : 4))) return 0;
        }
    }
    /* What is mapped stays open without its file. */
    for (i = 0; mapped && i < counters->count; ++i)
        if (counters->events[i].open) {
            tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_close, counters->events[i].file, 0, 0, 0, 0, 0);
            counters->events[i].file = -1;
        }
    return any;
}

/* Whether the program has filtered its system calls since it was started: this one might be the end of it. */
TMAPROBE_REGION_PART static int tmaprobe_region_may_open_v1(const struct tmaprobe_region_page_v1* page) {
    return page->seccomp || tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_prctl, 21 /* are they filtered? */, 0, 0, 0, 0,
                                                    0) <= 0; /* below 0: this kernel filters none */
}

TMAPROBE_REGION_PART static struct tmaprobe_region_counters_v1* tmaprobe_region_open_counters_v1(void) {
    struct tmaprobe_region_page_v1* const page = tmaprobe_region_state_v1.page;
    struct tmaprobe_region_counters_v1* counters = (struct tmaprobe_region_counters_v1*)0;
    const uint32_t count = page->event_count;
    if (!count || count > TMAPROBE_REGION_EVENTS) return counters;
    if (tmaprobe_region_may_open_v1(page))
        counters = (struct tmaprobe_region_counters_v1*)tmaprobe_region_map_v1(sizeof *counters, 0x22, -1);
    if (counters) {
        uint32_t i;
        counters->count = count;
        for (i = 0; i < count; ++i) counters->events[i].file = -1; /* 0 is one of the program's */
        if ((page->from_user_space && tmaprobe_region_open_events_v1(counters, 1)) ||
            (tmaprobe_region_close_counters_v1(counters, 1), tmaprobe_region_open_events_v1(counters, 0))) {
            __atomic_fetch_add(&page->threads_counted, 1, __ATOMIC_RELAXED);
            return counters;
        }
        tmaprobe_region_close_counters_v1(counters, 1);
        tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_munmap, (long)counters, (long)sizeof *counters, 0, 0, 0, 0);
    }
    __atomic_fetch_add(&page->threads_refused, 1, __ATOMIC_RELAXED);
    return (struct tmaprobe_region_counters_v1*)0;
}

/* Threads of this process that are gone have left their counters open. */
TMAPROBE_REGION_PART static void tmaprobe_region_close_left_v1(uint64_t process) {
    struct tmaprobe_region_state_v1* const state = &tmaprobe_region_state_v1;
    int i;
    for (i = 0; i < TMAPROBE_REGION_THREADS; ++i) {
        struct tmaprobe_region_slot_v1* const slot = &state->page->slots[i];
        const uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
        struct tmaprobe_region_counters_v1* counters;
        if (!owner) break;
        if (owner >> 32 != process || slot->image != state->image || !__atomic_load_n(&slot->counters, __ATOMIC_RELAXED))
            continue;
        if (tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_tgkill, (long)process, (long)(owner & 0xffffffffu), 0, 0, 0,
                                    0) != -3 /* no such thread */)
            continue;
        counters = (struct tmaprobe_region_counters_v1*)__atomic_exchange_n(&slot->counters, 0, __ATOMIC_ACQ_REL);
        if (!counters) continue;
        ((struct tmaprobe_region_thread_v1*)slot->thread)->counters = (struct tmaprobe_region_counters_v1*)0;
        tmaprobe_region_close_counters_v1(counters, 1);
        tmaprobe_region_call_v1(TMAPROBE_REGION_CALL_munmap, (long)counters, (long)sizeof *counters, 0, 0, 0, 0);
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
            slot->counters = 0;
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
    if (state->page->event_count) tmaprobe_region_close_left_v1(process);
    slot = tmaprobe_region_find_slot_v1(process, thread);
    if (!slot) {
        __atomic_fetch_add(&state->page->no_room_for, 1, __ATOMIC_RELAXED);
        return (struct tmaprobe_region_thread_v1*)0;
    }
    if (!slot->thread) {
        if (!inherited)
            inherited = (struct tmaprobe_region_thread_v1*)tmaprobe_region_map_v1(sizeof *inherited, 0x22, -1);
        if (!inherited) return (struct tmaprobe_region_thread_v1*)0;
        /* Those of the parent count the parent, and are not mapped here. */
        if (inherited->counters) tmaprobe_region_close_counters_v1(inherited->counters, 0);
        inherited->slot = slot;
        for (i = 0; i < inherited->depth; ++i) {
            struct tmaprobe_region_record_v1* const record = &slot->records[inherited->open[i].region];
            inherited->open[i].since = tmaprobe_region_ticks_v1(state->page);
            if (record->depth++ == 0) record->open_since = inherited->open[i].since;
        }
        inherited->counters = tmaprobe_region_open_counters_v1();
        if (inherited->counters) tmaprobe_region_read_v1(inherited->counters, 0);
        slot->counters = (uint64_t)inherited->counters;
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
    struct tmaprobe_region_counters_v1* counters;
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
    counters = tmaprobe_region_stop_v1(thread);
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
    if (counters) {
        tmaprobe_region_go_on_v1(thread, counters);
        open->since = tmaprobe_region_ticks_v1(tmaprobe_region_state_v1.page); /* reading took its time */
        if (record->depth == 1) record->open_since = open->since;
    }
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
    struct tmaprobe_region_counters_v1* counters;
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
    counters = tmaprobe_region_stop_v1(thread);
    while (thread->depth > place) tmaprobe_region_close_v1(thread, now, 0);
    record->iterations += iterations;
    record->bytes += bytes;
    tmaprobe_region_close_v1(thread, now, 1);
    if (counters) tmaprobe_region_go_on_v1(thread, counters);
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
