/* A program of C and C++ files and a shared library, all with marks. */
#include <tmaprobe/region.h>

#include <stdio.h>

int in_cpp(int n);
int in_library(int n);

int main(void) {
    int sum = 0, i;
    TMAPROBE_REGION_BEGIN("all");
    for (i = 0; i < 10; ++i) {
        TMAPROBE_REGION_SCOPE("turn");
        sum += in_cpp(i) + in_library(i);
    }
    TMAPROBE_REGION_END_COUNTED("all", i, 4 * i);
    tmaprobe_region_begin("named");
    tmaprobe_region_end("named", 1, 2);
    printf("%d\n", sum);
    return 0;
}
