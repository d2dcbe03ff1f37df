/*
 * Callgrind's client requests as regions of tmaprobe, which are called "callgrind", from START_INSTRUMENTATION to
 * STOP_INSTRUMENTATION, and "collected", from one TOGGLE_COLLECT to the next. Compile with -I.../include/tmaprobe/compat before
 * other folders. Licence: as tmaprobe/region.h.
 */
#ifndef TMAPROBE_COMPAT_CALLGRIND_H
#define TMAPROBE_COMPAT_CALLGRIND_H

#include "../../region.h"

#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION TMAPROBE_REGION_BEGIN("callgrind")
#define CALLGRIND_STOP_INSTRUMENTATION TMAPROBE_REGION_END("callgrind")
#define CALLGRIND_TOGGLE_COLLECT tmaprobe_compat_toggle_collect()
#define CALLGRIND_ZERO_STATS ((void)0)
#define CALLGRIND_DUMP_STATS ((void)0)
#define CALLGRIND_DUMP_STATS_AT(text) ((void)(text))

static inline __attribute__((unused)) void tmaprobe_compat_toggle_collect(void) {
    static __thread int collects;
    collects = !collects;
    if (collects)
        TMAPROBE_REGION_BEGIN("collected");
    else
        TMAPROBE_REGION_END("collected");
}

#endif /* TMAPROBE_COMPAT_CALLGRIND_H */
