#pragma once

namespace tmaprobe::cli {

/// From now on the first Ctrl-C (or SIGTERM, or SIGHUP when the terminal goes) is only noted, so that what was measured
/// can be saved; a second one ends the program at once.
void note_interrupts();

/// Whether one was noted.
bool interrupted();

}  // namespace tmaprobe::cli
