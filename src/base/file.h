#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tmaprobe {

/// The whole file. Errors: bad_input when it is missing, a directory, unreadable, or larger than
/// `limit_bytes` (a guard against a mistaken path to something huge).
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{256} << 20);

/// Replaces `path` with `content` as one step: writes beside it, syncs, renames. On any error the old
/// file is left whole and nothing stays beside it. A symbolic link stays one: its target is replaced. What
/// is no regular file, and all under /dev and /proc, is written directly. Errors: system, no_permission.
Result<> write_file(const std::filesystem::path& path, std::string_view content);

/// Writes all of it to an open descriptor; `name` is for the error. Errors: system (disk full, closed).
Result<> write_descriptor(int descriptor, std::string_view content, const std::string& name);

/// First line of a small text file such as those in /sys or /proc, without the newline; empty when
/// the file is not there. Never an error: absence is the answer.
std::string read_line(const std::filesystem::path& path);

}  // namespace tmaprobe
