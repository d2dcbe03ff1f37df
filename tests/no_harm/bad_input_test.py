#!/usr/bin/env python3
"""Processes that cannot be looked at, and machines that refuse: tmaprobe says why, ends, and passes the status on.

    bad_input_test.py --build build/test
"""

import os
import shutil
import subprocess
import unittest

import cases
import harness
import running
from running import measured, program, target

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def is_root():
    return os.geteuid() == 0


class Looking(unittest.TestCase):
    """--pid of processes of every kind."""

    def tearDown(self):
        harness.end_all()

    def refused(self, ran, *reasons):
        """It could not be done, and one of the reasons is given."""
        self.assertEqual(ran.status, 1, ran.said())
        self.assertTrue(any(reason in ran.said().lower() for reason in reasons), ran.said())

    def test_a_process_that_computes(self):
        with target("computing") as (_, pid):
            for _ in range(3):  # a busy machine may not let it run in one second
                ran = measured("--pid", str(pid), "--seconds", "1")
                self.assertEqual(ran.status, 0, ran.said())
                if ran.tree():
                    break
        self.assertTrue(ran.tree(), ran.said())

    def test_a_process_that_is_gone(self):
        process = subprocess.Popen(["true"])
        process.wait()
        self.refused(measured("--pid", str(process.pid), "--seconds", "1"), "no process", "no such process",
                     "not there", "has ended", "is gone")

    def test_a_process_that_ends_meanwhile(self):
        with target("computing", 700) as (_, pid):
            ran = measured("--pid", str(pid), "--seconds", "30", patience_s=25)
        self.assertEqual(ran.status, 0, ran.said())

    def test_a_process_that_sleeps(self):
        with target("sleeping") as (process, pid):
            ran = measured("--pid", str(pid), "--seconds", "1")
            self.assertIsNone(process.poll())
        self.assertIn(ran.status, (0, 1), ran.said())
        self.assertEqual(ran.windows(), 0)
        words = ("wait", "slept", "sleep", "idle", "no processor time")
        self.assertTrue(any(word in ran.said() for word in words), ran.said())

    def test_a_zombie(self):
        with target("zombie") as (_, pid):
            self.refused(measured("--pid", str(pid), "--seconds", "1"), "zombie", "has ended")

    def test_a_stopped_process_stays_stopped(self):
        with target("stopped") as (_, pid):
            ran = measured("--pid", str(pid), "--seconds", "1")
            self.assertIn(ran.status, (0, 1), ran.said())
            self.assertIn("stopped", ran.said())
            self.assertEqual(harness.descendants()[pid][1], "T")

    def test_a_process_under_a_debugger_is_left_to_it(self):
        with target("traced") as (_, pid):
            ran = measured("--pid", str(pid), "--seconds", "1")
            self.assertIn(ran.status, (0, 1), ran.said())
            self.assertTrue(any(word in ran.said() for word in ("traced", "debugger")), ran.said())
            self.assertEqual(ran.windows(), 0)

    def test_a_kernel_thread(self):
        try:
            with open("/proc/2/status", encoding="ascii") as status:
                is_one = "VmRSS" not in status.read()
        except OSError:
            is_one = False
        if not is_one:
            self.skipTest("process 2 is not a kernel thread here")
        self.refused(measured("--pid", "2", "--seconds", "1"), "kernel thread", "kernel's")

    @unittest.skipUnless(is_root() and shutil.which("setpriv"), "only root can become another user")
    def test_another_users_process(self):
        with target("computing") as (_, pid):
            self.refused(measured("--pid", str(pid), "--seconds", "1", before=NOBODY), "permission", "not permitted",
                         "another user", "may not", "refuse")

    def test_a_process_that_becomes_another_program(self):
        with target("replacing_itself", 3000) as (process, pid):
            ran = measured("--pid", str(pid), "--seconds", "2")
            self.assertEqual(process.wait(), 0)
        self.assertEqual(ran.status, 0, ran.said())

    def test_what_is_no_process_number(self):
        for word in ("0", "-1", "x", "99999999999"):
            ran = measured("--pid", word, "--seconds", "1")
            self.assertIn(ran.status, (1, 2), f"{word}: {ran.said()}")

    def test_ten_thousand_threads(self):
        with target("ten_thousand_threads") as (_, pid):
            ran = measured("--pid", str(pid), "--seconds", "1")
        self.assertEqual(ran.status, 0, ran.said())


class Commands(unittest.TestCase):
    """A command on a machine that refuses: its output and status are its own all the same."""

    def tearDown(self):
        harness.end_all()

    def goes_on(self, ran, said="ignored: as expected\n", status=0):
        self.assertEqual(ran.out, said, ran.said())
        self.assertEqual(ran.status, status, ran.said())

    def test_ten_thousand_threads(self):
        ran = measured("--", program("targets"), "ten_thousand_threads", environment={"NO_HARM_MS": "500"})
        if ran.status == 77:
            self.skipTest(ran.out)
        self.assertEqual(ran.status, 0, ran.said())
        self.assertIn("10000 threads waited", ran.out)

    def test_calls_that_a_container_refuses(self):
        for name in ("without_ptrace", "without_perf", "without_pidfd", "without_memory"):
            with self.subTest(name):
                self.goes_on(measured("--", program("traps"), "ignored", before=[program("targets"), name]))

    def test_without_ptrace_the_reason_is_given(self):
        ran = measured("--", program("traps"), "ignored", before=[program("targets"), "without_ptrace"])
        self.assertIn("trace", ran.report.partition("Host")[0].lower(), ran.report)

    @unittest.skipUnless(is_root(), "only root can become a user of its own")
    def test_few_processes(self):
        for most in ("2", "3", "4", "6", "9", "20"):
            with self.subTest(f"{most} processes"):
                ran = measured("--", program("traps"), "ignored", before=[program("targets"), "with_processes", most])
                if ran.status != 0 and "start" in ran.err:
                    continue  # not even the command itself can be started
                self.goes_on(ran)

    @unittest.skipUnless(cases.Cgroup.usable(), "no memory cgroup can be made here")
    def test_a_memory_cgroup_without_room(self):
        """The tool and the command share what the command nearly fills."""
        with cases.Cgroup("bad_input", 96) as cgroup:
            ran = measured("--", program("memory"), "near_its_limit", environment={"NO_HARM_MEGABYTES": "56"},
                           before=["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(cgroup.folder)])
            self.goes_on(ran, "near_its_limit: as expected\n")

    def test_a_command_that_is_not_there(self):
        self.assertIn(measured("--", "/no/such/command").status, (1, 127))

    def test_a_command_that_dies(self):
        for signal, status in ((6, 134), (9, 137), (11, 139), (15, 143)):
            ran = measured("--", "sh", "-c", f"ulimit -c 0; kill -{signal} $$")
            self.assertIn(ran.status, (status, -signal), ran.said())

    @unittest.skipUnless(os.path.exists("/proc/sys/kernel/yama/ptrace_scope"), "this kernel has no ptrace_scope")
    def test_with_ptrace_scope_as_it_is(self):
        """The setting is the machine's, and is not changed here: descendants may be looked at under 0 and 1."""
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            scope = int(file.read())
        ran = measured("--", program("traps"), "ignored", before=NOBODY if is_root() else [])
        self.goes_on(ran)
        if scope <= 1:
            self.assertTrue(ran.tree(), ran.said())


if __name__ == "__main__":
    running.main(__doc__, reaper=False)
