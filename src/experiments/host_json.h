#pragma once

#include <nlohmann/json_fwd.hpp>

#include "machine/host.h"

namespace tmaprobe::experiments {

/// The host as the record keeps it; keys as docs/record.schema.json says.
nlohmann::json host_json(const machine::Host& host);

}  // namespace tmaprobe::experiments
