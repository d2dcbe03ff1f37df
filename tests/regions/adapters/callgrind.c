#include <valgrind/callgrind.h>

int main(void) {
    volatile int k;
    int i;
    for (i = 0; i < 100; ++i) {
        CALLGRIND_START_INSTRUMENTATION;
        for (k = 0; k < 1000; ++k) {}
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_STOP_INSTRUMENTATION;
    }
    CALLGRIND_DUMP_STATS_AT("end");
    return RUNNING_ON_VALGRIND;
}
