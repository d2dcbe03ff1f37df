/*
 * Two regions at whose begin and end the machine's PMU goes to other rates and back, so that each has rates of its own:
 * "first" has those that the machine starts with, "other" the others. In both a third of the time is in "inner".
 *
 *     two_rates ROUNDS [THREADS]    rounds of both, each of some hundred thousand instructions
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tmaprobe/region.h>
#include <unistd.h>

static unsigned work(unsigned from, unsigned times) {
    for (unsigned i = 0; i < times; ++i) __asm__ volatile("" : "+r"(i), "+r"(from));
    return from + 1;
}

static void go_to(int file, const char* rates) {
    if (file >= 0 && pwrite(file, rates, 1, 0) != 1) exit(3);
}

static void* rounds(void* count) {
    /* A machine whose PMU has the same rates for ever has no such file. */
    const int file = open("/sys/module/known_pmu/parameters/other", O_WRONLY | O_CLOEXEC);
    unsigned x = 0;
    for (unsigned round = 0; round < *(const unsigned*)count; ++round) {
        go_to(file, "0");
        TMAPROBE_REGION_BEGIN("first");
        x = work(x, 50000);
        TMAPROBE_REGION_BEGIN("inner");
        x = work(x, 25000);
        TMAPROBE_REGION_END("inner");
        TMAPROBE_REGION_END_COUNTED("first", 75000, 0);
        go_to(file, "1");
        TMAPROBE_REGION_BEGIN("other");
        x = work(x, 150000);
        TMAPROBE_REGION_END_COUNTED("other", 150000, 0);
        go_to(file, "0");
    }
    if (file >= 0) close(file);
    return x ? count : NULL;
}

int main(int argc, char** argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    const int threads = argc > 2 ? atoi(argv[2]) : 0;
    rounds(&count);
    for (int i = 0; i < threads; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, rounds, &count) == 0) pthread_join(thread, NULL);
    }
    if (threads) { /* and a child, which counts for itself */
        int status = 1;
        const pid_t child = fork();
        if (child == 0) _exit(rounds(&count) ? 0 : 1);
        waitpid(child, &status, 0);
        return status;
    }
    return 0;
}
