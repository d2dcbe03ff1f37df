#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace tmaprobe::cli {
namespace {

// A signal handler reaches nothing else.
volatile std::sig_atomic_t noted = 0;

void note(int signal) {
    noted = 1;
    std::signal(signal, SIG_DFL);
}

}  // namespace

void note_interrupts() {
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, note);
    // Under nohup it stays ignored.
    if (std::signal(SIGHUP, note) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

bool interrupted() { return noted != 0; }

}  // namespace tmaprobe::cli
