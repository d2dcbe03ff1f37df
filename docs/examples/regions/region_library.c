/* Marks for languages that call functions of a shared library:
 *     cc -O2 -shared -fPIC -I INCLUDE region_library.c -o libtmaprobe_region.so
 */
#include <tmaprobe/region.h>

void tmaprobe_begin(const char* name);
void tmaprobe_end(const char* name, unsigned long long iterations, unsigned long long bytes);

void tmaprobe_begin(const char* name) { tmaprobe_region_begin(name); }
void tmaprobe_end(const char* name, unsigned long long iterations, unsigned long long bytes) {
    tmaprobe_region_end(name, iterations, bytes);
}
