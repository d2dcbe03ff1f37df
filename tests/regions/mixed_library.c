#include <tmaprobe/region.h>

int in_library(int n);

int in_library(int n) {
    int result;
    TMAPROBE_REGION_BEGIN("in a library");
    result = 3 * n;
    TMAPROBE_REGION_END("in a library");
    return result;
}
