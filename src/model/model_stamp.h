#pragma once

#include <string>
#include <string_view>

#include "model/gate.h"

namespace tmaprobe::model {

/// Goes up with each change of the model's code by which a program's cost may come out another, so that no cost is held
/// against one of another model.
inline constexpr unsigned model_revision = 26;

/// Of what costs come from: this revision of the model, LLVM's scheduling data, and the data of a CPU.
std::string stamp_of(unsigned revision, std::string_view llvm_version, std::string_view cpu_data);

/// model_stamp() of a build that has the model.
Result<std::string> stamp_of_target(const events::Library& library, const events::Table& target);

}  // namespace tmaprobe::model
