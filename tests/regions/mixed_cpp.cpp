#include <tmaprobe/region.h>

extern "C" int in_cpp(int n);

int in_cpp(int n) {
    tmaprobe::region whole("in C++");
    whole.count(1, 4);
    TMAPROBE_REGION_SCOPE("part");
    const auto twice = [](int of) {
        TMAPROBE_REGION_BEGIN("lambda");
        const int result = 2 * of;
        TMAPROBE_REGION_END("lambda");
        return result;
    };
    return twice(n);
}
