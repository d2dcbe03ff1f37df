#pragma once

#include "machine/host.h"
#include "record/host.h"

namespace tmaprobe::experiments {

/// The host as a record keeps it, with the name that it has in the network.
record::MeasuredHost measured_host(const machine::Host& host);

}  // namespace tmaprobe::experiments
