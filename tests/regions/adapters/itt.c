#include <ittnotify.h>

int main(void) {
    __itt_domain* const domain = __itt_domain_create("program");
    __itt_string_handle* const outer = __itt_string_handle_create("outer task");
    __itt_string_handle* const inner = __itt_string_handle_create("inner task");
    int i;
    __itt_task_begin(domain, __itt_null, __itt_null, outer);
    for (i = 0; i < 100; ++i) {
        __itt_task_begin(domain, __itt_null, __itt_null, inner);
        __itt_task_end(domain);
    }
    __itt_task_end(domain);
    __itt_task_end(domain); /* one too many */
    return 0;
}
