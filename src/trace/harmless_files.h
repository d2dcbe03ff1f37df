#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "trace/snapshot.h"

// Which files may be opened without anybody's taking notice.
namespace tmaprobe::trace {

/// Whether it is /dev/null.
bool is_null_device(const struct stat& status);
/// Whether it is /dev/null, /dev/zero, /dev/urandom or their like: the same for everybody, and nothing of it is used
/// up.
bool is_plain_device(const struct stat& status);

/// A duplicate of the process's own descriptor: reading at a place moves nothing and opens nothing. When the process
/// has ended, the file itself, if it is still there. -1: it is not.
Fd open_again(pid_t process, const OpenFile& file);

/// Whether what this descriptor stands for (it may be of O_PATH) is read without anybody's taking notice, and without
/// an end of waiting: a file or folder of a disk or of memory, or one of the devices that are the same for everybody.
/// What the kernel makes up as it is read may be the reader's affair, or be used up by it; behind FUSE there is a
/// program.
bool can_be_opened(int at);

/// Files of the kernel's that programs read of themselves and of the machine, and that are the same after that.
bool is_known_to_be_harmless(const std::string& path);

}  // namespace tmaprobe::trace
