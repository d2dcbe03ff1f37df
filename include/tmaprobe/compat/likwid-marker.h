/*
 * LIKWID's marker macros as regions of tmaprobe: compile with -I.../include/tmaprobe/compat instead of LIKWID's folder
 * and -DLIKWID_PERFMON as before; nothing is linked. Licence: as tmaprobe/region.h.
 */
#ifndef TMAPROBE_COMPAT_LIKWID_MARKER_H
#define TMAPROBE_COMPAT_LIKWID_MARKER_H

#ifdef LIKWID_PERFMON
#include "../region.h"

#define LIKWID_MARKER_INIT ((void)0)
#define LIKWID_MARKER_THREADINIT ((void)0)
#define LIKWID_MARKER_SWITCH ((void)0)
#define LIKWID_MARKER_CLOSE ((void)0)
#define LIKWID_MARKER_REGISTER(tag) ((void)(tag))
#define LIKWID_MARKER_RESET(tag) ((void)(tag))
#define LIKWID_MARKER_START(tag) tmaprobe_region_begin(tag)
#define LIKWID_MARKER_STOP(tag) tmaprobe_region_end((tag), 0, 0)
/* What was counted is in tmaprobe's report: here are no events. */
#define LIKWID_MARKER_GET(tag, number, events, time, count) \
    ((void)(tag), (void)(events), *(number) = 0, *(time) = 0, *(count) = 0)
#define LIKWID_MARKER_WRITE_FILE(file) ((void)(file))
#else
#define LIKWID_MARKER_INIT
#define LIKWID_MARKER_THREADINIT
#define LIKWID_MARKER_SWITCH
#define LIKWID_MARKER_CLOSE
#define LIKWID_MARKER_REGISTER(tag)
#define LIKWID_MARKER_RESET(tag)
#define LIKWID_MARKER_START(tag)
#define LIKWID_MARKER_STOP(tag)
#define LIKWID_MARKER_GET(tag, number, events, time, count)
#define LIKWID_MARKER_WRITE_FILE(file)
#endif

#endif /* TMAPROBE_COMPAT_LIKWID_MARKER_H */
