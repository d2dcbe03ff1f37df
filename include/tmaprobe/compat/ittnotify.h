/*
 * Tasks of Intel's ITT API as regions of tmaprobe: compile with -I.../include/tmaprobe/compat instead of ITT's folder
 * and link nothing. Of ITT there are domains, string handles and tasks of one thread; the rest is not. Licence: as
 * tmaprobe/region.h.
 */
#ifndef TMAPROBE_COMPAT_ITTNOTIFY_H
#define TMAPROBE_COMPAT_ITTNOTIFY_H

#include "../region.h"

#include <stdlib.h>
#include <string.h>

typedef struct ___itt_domain {
    volatile int flags;
    const char* nameA;
} __itt_domain;
typedef struct ___itt_string_handle {
    const char* strA;
} __itt_string_handle;
typedef struct ___itt_id {
    unsigned long long d1, d2, d3;
} __itt_id;

static const __itt_id __itt_null __attribute__((unused)) = {0, 0, 0};

enum { tmaprobe_compat_most_tasks = 64 };
struct tmaprobe_compat_tasks {
    unsigned depth;
    const char* names[tmaprobe_compat_most_tasks];
};

/* Each program and library has its own; a task ends in the library that it has begun in. */
extern __thread struct tmaprobe_compat_tasks tmaprobe_compat_tasks __attribute__((weak, visibility("hidden")));
__thread struct tmaprobe_compat_tasks tmaprobe_compat_tasks = {0, {0}};

static inline __attribute__((unused)) __itt_domain* __itt_domain_create(const char* name) {
    __itt_domain* const domain = (__itt_domain*)malloc(sizeof *domain);
    if (!domain) return 0;
    domain->flags = 1;
    domain->nameA = strdup(name);
    return domain;
}

static inline __attribute__((unused)) __itt_string_handle* __itt_string_handle_create(const char* name) {
    __itt_string_handle* const handle = (__itt_string_handle*)malloc(sizeof *handle);
    if (handle) handle->strA = strdup(name);
    return handle;
}

static inline __attribute__((unused)) void __itt_task_begin(const __itt_domain* domain, __itt_id task, __itt_id parent,
                                                            __itt_string_handle* name) {
    const char* const text = name && name->strA ? name->strA : "task";
    (void)domain, (void)task, (void)parent;
    if (tmaprobe_compat_tasks.depth < tmaprobe_compat_most_tasks) {
        tmaprobe_compat_tasks.names[tmaprobe_compat_tasks.depth] = text;
        tmaprobe_region_begin(text);
    }
    ++tmaprobe_compat_tasks.depth;
}

static inline __attribute__((unused)) void __itt_task_end(const __itt_domain* domain) {
    (void)domain;
    if (tmaprobe_compat_tasks.depth == 0) return;
    if (--tmaprobe_compat_tasks.depth < tmaprobe_compat_most_tasks)
        tmaprobe_region_end(tmaprobe_compat_tasks.names[tmaprobe_compat_tasks.depth], 0, 0);
}

#define __itt_pause() ((void)0)
#define __itt_resume() ((void)0)
#define __itt_thread_set_name(name) ((void)(name))

#endif /* TMAPROBE_COMPAT_ITTNOTIFY_H */
