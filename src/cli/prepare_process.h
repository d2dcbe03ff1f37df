#pragma once

#include "base/result.h"

namespace tmaprobe::cli {

/// Makes whatever a shell or a service manager started us with fit to work in: descriptors 0 to 2 are open
/// (else a file opened later would take their place and get what is meant for them), and a limit on file
/// sizes is an error of the write instead of our death. Errors: unavailable when the stack may not be as
/// large as it has to be.
Result<> prepare_process();

}  // namespace tmaprobe::cli
