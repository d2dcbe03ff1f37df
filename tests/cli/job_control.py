"""A command under tmaprobe in an interactive shell: Ctrl-Z stops both, fg goes on, Ctrl-C ends the command and
shows what was measured until then.

    job_control.py TMAPROBE [OPTIONS]
"""
import os
import pty
import re
import select
import shlex
import sys
import time

PATIENCE_S = 60


class Terminal:
    def __init__(self, words):
        self.seen = ""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execvp(words[0], words)

    def wait_for(self, pattern):
        """Reads until the pattern comes, beyond what was waited for before."""
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > end:
                sys.exit(f"no {pattern!r} in:\n{self.seen}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        self.seen = self.seen[found.end():]

    def type(self, text):
        os.write(self.terminal, text.encode())


shell = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"])
shell.type('PS1=rea""dy:\n')  # the terminal shows what is typed, which is not what is waited for
shell.wait_for("ready:")
shell.type(shlex.join(sys.argv[1:]) + " -- sh -c 'while :; do echo is-\"\"up; sleep 0.1; done'\n")
shell.wait_for("is-up")
shell.type("\x1a")
shell.wait_for("Stopped")
shell.wait_for("ready:")
shell.type("fg\n")
shell.wait_for("is-up")  # it has the terminal again, before which Ctrl-C would not reach it
shell.type("\x03")
shell.wait_for("Command")
shell.wait_for("ready:")
shell.type("echo status=$?\n")
shell.wait_for("status=130")
shell.type("exit\n")
os.waitpid(shell.child, 0)
