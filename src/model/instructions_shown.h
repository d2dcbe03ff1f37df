#pragma once

#include "events/table.h"

namespace tmaprobe::model {

/// Whether the core of a table has AVX-512 (events/nearest.json).
bool has_avx512(const events::Library& library, const events::Table& target);

}  // namespace tmaprobe::model
