#!/usr/bin/env python3
"""tmaprobe is killed by SIGKILL at random moments: the command goes on to its normal end, and no copy of it is left.

    killed_tool_test.py --build build/test [--long]      15 times, or with --long 100 times
"""

import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

import harness
import running

WORK_MS = 600
GONE_S = 1.0  # by when copies are gone that the killed tool has made
# Each command writes what it has found to a file, so that nothing depends on a pipe to the killed tool.
COMMANDS = {
    "one thread": ["registers", "vector_registers"],
    "traps": ["traps", "steps_itself"],
    "threads": ["threads", "condition_variables"],
    "signals": ["queued", "between_processes"],
    "children": ["processes", "waits_for_any"],
    "sequences": ["registers", "restartable_sequences"],
}


class KilledTool(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(os.environ.get("NO_HARM_SEED", "1"))

    def killed_after(self, seconds, words):
        """Starts the command under tmaprobe and kills that: what the command wrote until its end, and what is left."""
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder, "result")
            shell = f'{running.program(words[0])} {words[1]} > {result} 2>&1; echo status $? >> {result}'
            tool = subprocess.Popen([running.Places.tmaprobe, "--level", "2", *running.Places.options, "-o",
                                     f"{folder}/report", "--", "sh", "-c", shell], cwd=folder, start_new_session=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                    env={**os.environ, "NO_HARM_MS": str(WORK_MS)})
            time.sleep(seconds)
            tool.send_signal(signal.SIGKILL)
            tool.wait()
            end = time.monotonic() + 30
            while self.shells() and time.monotonic() < end:
                time.sleep(0.005)
            self.assertFalse(self.shells(), "the command did not end")
            end = time.monotonic() + GONE_S
            while (left := self.others()) and time.monotonic() < end:
                time.sleep(0.005)
            return result.read_text() if result.exists() else "", left

    @staticmethod
    def runs_here(name, words):
        """An architecture may have no such program, and a CPU not what it needs: that is said."""
        program = running.program(words[0])
        if not os.path.exists(program):
            print(f"{name}: left out, no {words[0]} for this architecture")
            return False
        ran = subprocess.run([program, words[1]], capture_output=True, text=True, check=False,
                             env={**os.environ, "NO_HARM_MS": "1"})
        if ran.returncode == 77:
            print(f"{name}: left out, {ran.stdout.strip()}")
        return ran.returncode != 77

    @staticmethod
    def shells():
        harness.reap()
        return [pid for pid, (name, state) in harness.descendants().items() if name == "sh" and state != "Z"]

    @staticmethod
    def others():
        harness.reap()
        return harness.names_of(harness.descendants())

    def tearDown(self):
        harness.end_all()

    def test_the_command_ends_as_if_nothing_were(self):
        times = 100 if running.Places.long else 15
        commands = [each for each in COMMANDS.items() if self.runs_here(*each)]
        self.assertTrue(commands, "none of them runs here")
        for i in range(times):
            name, words = commands[i % len(commands)]
            # The first moments of the tool are those in which it has started no command.
            moment = self.random.uniform(0.15, 0.15 + WORK_MS / 1000)
            with self.subTest(f"{name}, killed after {moment:.4f} s"):
                said, left = self.killed_after(moment, words)
                if not said:
                    continue  # the command had not been started
                self.assertEqual(said, f"{words[1]}: as expected\nstatus 0\n")
                self.assertEqual(left, [], "something is left behind")


if __name__ == "__main__":
    running.main(__doc__)
