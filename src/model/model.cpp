#include "model/model.h"

#include "model/gate.h"
#include "model/what_if.h"
#if TMAPROBE_HAVE_MODEL
#include "model/gate_simulation.h"
#include "model/model_source.h"
#include "model/model_stamp.h"
#include "model/what_if_simulation.h"
#endif

namespace tmaprobe::model {

bool built() { return TMAPROBE_HAVE_MODEL; }

Result<> check_built() {
    if (built()) return {};
    return fail(ErrorCode::unavailable, "this build has no model: LLVM 19 was missing when it was configured",
                "run third_party/setup.sh and build again");
}

#if !TMAPROBE_HAVE_MODEL

Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library&, const events::Table&,
                                                             const machine::Host&, const ModelOptions&) {
    return pass_on(check_built());
}

Result<record::WhatIf> what_if(const std::string&, const WhatIfCpu&, const WhatIfQuestions&, unsigned) {
    return pass_on(check_built());
}

Result<std::vector<TracedInstruction>> traced_instructions(const std::string&) { return pass_on(check_built()); }

Result<ProgramCost> cost_of(const std::vector<std::string>&, const CostQuestion&) { return pass_on(check_built()); }

Result<std::string> model_stamp(const events::Library&, const events::Table&) { return pass_on(check_built()); }

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

Result<std::vector<TracedInstruction>> traced_instructions(const std::string& trace_file) {
    return list_traced_instructions(trace_file);
}

Result<ProgramCost> cost_of(const std::vector<std::string>& command, const CostQuestion& question) {
    return simulate_cost(command, question);
}

Result<std::string> model_stamp(const events::Library& library, const events::Table& target) {
    return stamp_of_target(library, target);
}

#endif

}  // namespace tmaprobe::model
