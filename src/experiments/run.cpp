#include "experiments/run.h"

namespace tmaprobe::experiments {

Result<record::Record> run(const RunRequest&, const machine::Host&, const machine::Topology&, const OnProgress&) {
    return fail(ErrorCode::unavailable, "not yet");
}

}  // namespace tmaprobe::experiments
