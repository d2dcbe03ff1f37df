"""A shell on a pseudo-terminal: a job is stopped by Ctrl-Z, goes on, and is ended by Ctrl-C; the size changes."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

child, terminal = pty.fork()
if child == 0:
    os.environ["PS1"] = ""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job of a script is started without it
    os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
seen = ""


def wait_for(pattern):
    global seen
    end = time.monotonic() + 60
    while not (found := re.search(pattern, seen)):
        if time.monotonic() > end:
            sys.exit(f"no {pattern!r} in:\n{seen}")
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    seen = seen[found.end():]


def type_in(text):
    os.write(terminal, text.encode())


type_in('PS1=rea""dy:\n')
wait_for("ready:")
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
type_in("stty size\n")
wait_for("33 77")
wait_for("ready:")
type_in("sh -c 'while :; do echo is-\"\"up; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done'\n")
for _ in range(4):
    wait_for("is-up")
type_in("\x1a")
wait_for("Stopped")
wait_for("ready:")
type_in("fg\n")
for _ in range(4):
    wait_for("is-up")  # it has the terminal again, before which Ctrl-C would not reach it
type_in("\x03")
wait_for("ready:")
type_in('echo status""=$?\n')
wait_for("status=130")
type_in('echo rea""ding; cat\n')
wait_for("reading")
type_in("line\n")
wait_for("line\r\nline")
type_in("\x04")
wait_for("ready:")
type_in("exit 5\n")
print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
