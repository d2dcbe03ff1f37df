#include <likwid-marker.h>

int main(void) {
    volatile int k;
    int i, number = 4, count = 9;
    double events[4], time = 7;
    LIKWID_MARKER_INIT;
    LIKWID_MARKER_THREADINIT;
    LIKWID_MARKER_REGISTER("copy");
    for (i = 0; i < 100; ++i) {
        LIKWID_MARKER_START("copy");
        for (k = 0; k < 1000; ++k) {}
        LIKWID_MARKER_STOP("copy");
    }
    LIKWID_MARKER_GET("copy", &number, events, &time, &count);
    LIKWID_MARKER_CLOSE;
    return number + count;
}
