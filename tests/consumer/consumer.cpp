#include <cstdio>

#include "events/table.h"
#include "report/terminal.h"

int main() {
    const auto table = tmaprobe::events::load({}, "skylakex");
    if (!table) return 1;
    const auto text = tmaprobe::report::render_terminal(tmaprobe::record::Record{}, {});
    std::printf("%zu metrics, a report of %zu characters\n", table->metrics.size(), text.size());
    return table->metrics.empty() || text.empty();
}
