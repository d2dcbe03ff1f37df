#include "model/model.h"

#if TMAPROBE_HAVE_MODEL
#include "model/model_source.h"
#endif

namespace tmaprobe::model {

bool built() { return TMAPROBE_HAVE_MODEL; }

#if !TMAPROBE_HAVE_MODEL

Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library&, const events::Table&,
                                                             const machine::Host&, const ModelOptions&) {
    return fail(ErrorCode::unavailable, "this build has no model: LLVM 19 was missing when it was configured",
                "run third_party/setup.sh and build again");
}

#else

Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library& library,
                                                             const events::Table& target, const machine::Host& host,
                                                             const ModelOptions& options) {
    return make_model_source(library, target, host, options);
}

#endif

}  // namespace tmaprobe::model
