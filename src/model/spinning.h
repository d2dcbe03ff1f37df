#pragma once

#include <vector>

#include "trace/translator.h"

namespace tmaprobe::model {

/// A short loop that writes nothing, reads the same all the time, and comes back to the same registers: it waits
/// for what only another thread could change.
bool spins(const std::vector<trace::Step>& steps, trace::Tracer& tracer, const trace::TracedProcess& process,
           const trace::Translator& translator);

}  // namespace tmaprobe::model
