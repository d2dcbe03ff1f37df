#include "model/model.h"

#include "model/what_if.h"
#if TMAPROBE_HAVE_MODEL
#include "model/model_source.h"
#include "model/what_if_simulation.h"
#endif

namespace tmaprobe::model {

bool built() { return TMAPROBE_HAVE_MODEL; }

#if !TMAPROBE_HAVE_MODEL

namespace {

tl::unexpected<Error> no_model() {
    return fail(ErrorCode::unavailable, "this build has no model: LLVM 19 was missing when it was configured",
                "run third_party/setup.sh and build again");
}

}  // namespace

Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library&, const events::Table&,
                                                             const machine::Host&, const ModelOptions&) {
    return no_model();
}

Result<record::WhatIf> what_if(const std::string&, const WhatIfCpu&, const WhatIfQuestions&, unsigned) {
    return no_model();
}

#else

Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library& library,
                                                             const events::Table& target, const machine::Host& host,
                                                             const ModelOptions& options) {
    return make_model_source(library, target, host, options);
}

Result<record::WhatIf> what_if(const std::string& trace_file, const WhatIfCpu& cpu, const WhatIfQuestions& questions,
                               unsigned threads) {
    return simulate_what_if(trace_file, cpu, questions, threads);
}

#endif

}  // namespace tmaprobe::model
