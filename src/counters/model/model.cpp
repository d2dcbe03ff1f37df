#include "counters/model/model.h"

namespace tmaprobe::counters::model {

bool built() { return TMAPROBE_HAVE_MODEL; }

Result<std::unique_ptr<CounterSource>> make_source(const events::Library&, const events::Table&, const machine::Host&,
                                                   const Options&) {
    return fail(ErrorCode::unavailable, "no model yet");
}

}  // namespace tmaprobe::counters::model
