#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// The JSON text of what the model knows of a folder's core: `file` is "geometry.json" or "model.json". Where the file
/// names another folder in "same_as", that folder's file is read first and this one's members are merged into it (JSON
/// Merge Patch, RFC 7396: objects by member, null takes a member away, lists are replaced whole). A folder that a
/// foreign tree has no such file of has the embedded one.
/// Errors: unavailable when there is none; bad_input for a broken file, and for folders that name each other.
Result<std::string> read_core_data(const Library& library, const std::string& folder, std::string_view file);

/// Whose core the model of a folder is, for lists.
struct CoreModel {
    std::string llvm_cpu;        ///< LLVM's name of the core that it is scheduled as
    std::string borrowed_model;  ///< what that core lacks to be this one, one sentence; empty: nothing
};

/// Errors: as read_core_data; unavailable also when the geometry names no core.
Result<CoreModel> read_core_model(const Library& library, const std::string& folder);

}  // namespace tmaprobe::events
