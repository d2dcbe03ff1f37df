#!/usr/bin/env python3
"""The bench finds harm: tools that each do one thing wrong to the command are told from one that does nothing.

    harness_test.py --build build/test
"""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
BUILD = None
TO_THE_COMMAND = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\n'
# What a tool does wrong, and what the table says of it.
HARM = {
    "changes the status": ('"$@"; exit 5', "status 5"),
    "adds to the output": ('echo more; "$@"', "standard output"),
    "adds to the error output": ('echo more >&2; "$@"', "standard error"),
    "loses the output": ('"$@" > /dev/null', "standard output"),
    "changes a file": ('"$@"; s=$?; echo x >> result; exit $s', "file result"),
    "leaves a file": ('"$@"; s=$?; echo x > another; exit $s', "file another"),
    "leaves a process": ('"$@"; s=$?; sleep 0.8 & exit $s', "still there"),
    "leaves a daemon": ('"$@"; s=$?; (setsid sleep 60 &); exit $s', "left behind: sleep (S)"),
    "leaves a stopped process": ('"$@"; s=$?; sh -c \'kill -STOP $$\' & exit $s', "sh (T)"),
    "leaves a zombie": ('"$@"; s=$?; sh -c \'sleep 0 & exec sleep 60\' & exit $s', "sleep (Z)"),
    "hangs": ('"$@"; exec sleep 300', "hung"),
    "loses signals": ('trap "" USR1; "$@"', "standard output"),
    "leaves a descriptor open": ('exec 9< /dev/null; exec "$@"', "descriptor 9"),
}


class Bench(unittest.TestCase):
    def run_under(self, body, *names):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder, "tool")
            tool.write_text(TO_THE_COMMAND + body + "\n")
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
            command = [sys.executable, HERE / "no_harm.py", "--build", BUILD, "--tmaprobe", tool, "--work-ms", "30",
                       "--hang-s", "2", "--grace-s", "1", *names]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_no_harm_is_none(self):
        ran = self.run_under('exec "$@"', "harness.*", "memory.inherited", "shell.two_commands")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("differences in 0 cases", ran.stdout)

    def test_each_harm_is_found(self):
        for harm, (body, told) in HARM.items():
            with self.subTest(harm):
                case = "memory.inherited" if "descriptor" in harm else "harness.writes_and_signals"
                ran = self.run_under(body, case)
                self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
                self.assertIn(told, ran.stdout)

    def test_nothing_of_the_bench_itself_is_left(self):
        self.run_under('"$@"; (setsid sleep 61 &)', "harness.writes_and_signals")
        running = subprocess.run(["pgrep", "-f", "^sleep 61$"], capture_output=True, check=False)
        self.assertEqual(running.returncode, 1)


if __name__ == "__main__":
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
