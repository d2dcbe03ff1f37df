#pragma once

namespace tmaprobe::process {

/// On how many CPUs work of ours may be spread: those that this process may run on, at most eight.
unsigned cpus_to_use();

}  // namespace tmaprobe::process
