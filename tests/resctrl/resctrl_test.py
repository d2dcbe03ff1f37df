#!/usr/bin/env python3
"""`tmaprobe interference` on a file system that behaves like resctrl, in each vendor's flavour: what it
may ask is asked, what it may not is refused before anything is written, and every way out leaves the tree
as it was found.

    resctrl_test.py TMAPROBE
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).parent
TMAPROBE = None


def command(root, *arguments, victim="chase:size=64K", aggressor="chase:size=128K", rounds=1, seconds=0.1):
    return [TMAPROBE, "interference", "--resctrl", root, "--victim", victim, "--aggressor", aggressor,
            "--rounds", str(rounds), "--seconds", str(seconds), "--source", "none", *arguments]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(1 if os.environ.get("TMAPROBE_SKIP_NOTHING") == "1" else 77)


class Mounted:
    """The fake, mounted while the block lasts."""

    def __init__(self, flavour):
        self.folder = tempfile.mkdtemp(prefix="resctrl-")
        self.process = subprocess.Popen([sys.executable, "-B", HERE / "fake_resctrl.py", flavour, self.folder])
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            if os.path.isdir(f"{self.folder}/info"):
                return
            time.sleep(0.05)
        self.process.kill()
        os.rmdir(self.folder)
        raise RuntimeError("the fake resctrl did not mount")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount", "-u", self.folder], check=False)
        self.process.wait(timeout=10)
        os.rmdir(self.folder)

    def run(self, *arguments, **settings):
        return subprocess.run(command(self.folder, *arguments, **settings), capture_output=True, text=True, timeout=60)

    def start_long(self, *arguments, **settings):
        return subprocess.Popen(command(self.folder, *arguments, **({"rounds": 1000, "seconds": 0.3} | settings)),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def groups(self):
        """Every group, the monitoring ones too, as paths below the root."""
        watchers = os.listdir(f"{self.folder}/mon_groups") if os.path.isdir(f"{self.folder}/mon_groups") else []
        return sorted([name for name in os.listdir(self.folder)
                       if name not in ("info", "mon_data", "mon_groups") and os.path.isdir(f"{self.folder}/{name}")]
                      + [f"mon_groups/{name}" for name in watchers])

    def schemata(self):
        return pathlib.Path(self.folder, "schemata").read_text()

    def wait_for_groups(self):
        """Names of tmaprobe's groups, once there are any."""
        for _ in range(500):
            ours = [name for name in self.groups() if "tmaprobe-" in name]
            if ours:
                return ours
            time.sleep(0.01)
        raise RuntimeError("no group was made")


class Resctrl(unittest.TestCase):
    def assert_untouched(self, fake, schemata):
        self.assertEqual(fake.groups(), [])
        self.assertEqual(fake.schemata(), schemata)

    def states(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return {run["state"] if "state" in run else run["extra"]["state"]: run for run in json.loads(result.stdout)["runs"]}

    def test_limits_and_protection_in_each_flavour(self):
        for flavour, limit in (("intel", "l3=0x3,mb=20"), ("intel-cdp", "l3=0x3"), ("amd", "l3=0x5,mb=256"),
                               ("arm", "l3=0x11,mb=25")):
            with self.subTest(flavour), Mounted(flavour) as fake:
                before = fake.schemata()
                states = self.states(fake.run("--limit", limit, "--protect", "l3=0xf0", "--json", "-"))
                self.assertEqual(set(states), {"alone", "with neighbour", "neighbour limited", "victim protected",
                                               "isolated"})
                self.assert_untouched(fake, before)

    def test_monitors_become_events(self):
        with Mounted("intel") as fake:
            states = self.states(fake.run("--json", "-"))
            for state in states.values():
                events = {event["name"]: event for event in state["events"] if event["pmu"] == "resctrl"}
                self.assertEqual(set(events), {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"})
                self.assertGreater(events["mbm_total_bytes"]["value"], 0)

    def test_what_the_hardware_does_not_take_is_refused_before_it_is_written(self):
        for flavour, limit, says in (("intel", "l3=0x800", "does not have"), ("intel", "l3=0x5", "holes"),
                                     ("intel", "l3=0", "nothing at all"), ("intel", "mb=0", "nothing at all"),
                                     ("intel", "mb=101", "out of range"), ("intel", "mb=5", "out of range"),
                                     ("amd", "mb=4096", "out of range"), ("arm", "l3=0x100", "does not have"),
                                     ("intel", "l3=0xzz", "not a limit"), ("intel", "l4=1", "not a limit"),
                                     ("intel", "l3=3,", "not a limit"), ("intel", "l3=3,l3=7", "said twice")):
            with self.subTest(f"{flavour} {limit}"), Mounted(flavour) as fake:
                before = fake.schemata()
                result = fake.run("--limit", limit)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(says, result.stderr)
                self.assertIn("hint:", result.stderr)
                self.assertEqual(result.stdout, "")
                self.assert_untouched(fake, before)

    def test_a_control_that_is_lacking_is_said(self):
        with Mounted("intel-cdp") as fake:
            result = fake.run("--limit", "mb=20")
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot limit memory bandwidth", result.stderr)

    def test_no_group_left_in_the_hardware(self):
        with Mounted("arm") as fake:
            for name in ("theirs", "also-theirs"):
                os.mkdir(f"{fake.folder}/{name}")
            result = fake.run("--limit", "l3=0x3", "--json", "-")
            self.assertEqual(set(self.states(result)), {"alone", "with neighbour"})
            warning = {w["id"]: w["what"] for w in json.loads(result.stdout)["warnings"]}["no_resctrl"]
            self.assertIn("no resctrl group left", warning)
            self.assertIn("Out of CLOSIDs", warning)
            self.assertEqual(fake.groups(), ["also-theirs", "theirs"])
            result = fake.run("--allocations", "l3")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("no resctrl group left", result.stderr)

    def test_without_limits_no_group_of_the_hardware_is_taken(self):
        with Mounted("intel") as fake:
            process = fake.start_long()
            for _ in range(50):
                self.assertEqual([name for name in fake.wait_for_groups() if not name.startswith("mon_groups/")], [])
            process.terminate()
            process.communicate(timeout=30)

    def test_a_plain_run_has_the_monitors_as_events(self):
        for arguments in (["--kernel", "stream", "--size", "4M"], ["--", "sleep", "0.2"]):
            with self.subTest(arguments), Mounted("amd") as fake:
                before = fake.schemata()
                result = subprocess.run([TMAPROBE, "--resctrl", fake.folder, "--source", "none", "--json", "-", *arguments],
                                        capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)
                events = {e["name"]: e for e in json.loads(result.stdout)["runs"][0]["events"] if e["pmu"] == "resctrl"}
                self.assertEqual(set(events), {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"})
                self.assertGreater(events["mbm_total_bytes"]["value"], 0)
                self.assertGreater(events["mbm_total_bytes"]["time_running_ns"], 0)
                self.assert_untouched(fake, before)

    def test_a_bandwidth_between_two_steps_is_said_to_be_rounded(self):
        with Mounted("intel") as fake:
            result = fake.run("--limit", "mb=15", "--json", "-")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("gives 20", {w["id"]: w["what"] for w in json.loads(result.stdout)["warnings"]}["bandwidth_rounded"])

    def test_megabytes_per_second(self):
        with Mounted("intel-mbps") as fake:
            before = fake.schemata()
            states = self.states(fake.run("--allocations", "mb", "--json", "-"))
            self.assertIn("mb=1000 (MBps)", states)
            self.assertEqual(states["mb=1000 (MBps)"]["extra"]["allocation"]["unit"], "MBps")
            self.states(fake.run("--limit", "mb=5000", "--json", "-"))
            self.assert_untouched(fake, before)

    def test_ended_by_a_signal_it_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), Mounted("intel") as fake:
                before = fake.schemata()
                process = fake.start_long()
                fake.wait_for_groups()
                process.send_signal(number)
                process.communicate(timeout=30)
                self.assertEqual(process.returncode, 1)
                self.assert_untouched(fake, before)

    def tasks_of(self, fake, label):
        """Processes in the group of ours that is so labelled, once there are any."""
        for _ in range(2000):
            for name in fake.groups():
                try:
                    tasks = pathlib.Path(fake.folder, name, "tasks").read_text().split()
                except OSError:
                    continue
                if name.endswith(label) and tasks:
                    return [int(task) for task in tasks]
            time.sleep(0.01)
        raise RuntimeError(f"no task in {label}")

    def test_a_victim_or_a_neighbour_that_crashes_leaves_nothing(self):
        # On a busy machine the neighbour may be killed before it has said that it runs.
        for label, says in (("-victim", "the measuring process died: killed by signal 11"),
                            ("-neighbour", r"the neighbour (ended by itself \(killed by signal 11\)|could not start: it died)")):
            with self.subTest(label), Mounted("intel") as fake:
                before = fake.schemata()
                process = fake.start_long("--limit", "l3=0x3", seconds=2)
                os.kill(self.tasks_of(fake, label)[0], signal.SIGSEGV)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1, errors)
                self.assertRegex(errors, says)
                self.assert_untouched(fake, before)

    def test_interrupted_it_takes_the_victims_command_along(self):
        with Mounted("intel") as fake:
            process = fake.start_long(victim="cmd:sleep 987654")
            self.tasks_of(fake, "-victim")
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 1)
            self.assertEqual(subprocess.run(["pgrep", "-f", "sleep 987654"], stdout=subprocess.DEVNULL).returncode, 1)
            self.assertEqual(fake.groups(), [])

    def test_allocations_are_swept_by_the_victim_alone(self):
        for flavour, controls, first, last in (
                ("intel", "l3", "l3=0x1 (1 of 11 bits)", "l3=0x7ff (11 of 11 bits)"),
                ("intel", "mb", "mb=10 (percent)", "mb=100 (percent)"),
                ("amd", "l3,mb", "l3=0x1 (1 of 16 bits)", "mb=2048 (of 2048)"),
                ("intel-cdp", "l3", "l3=0x1 (1 of 11 bits)", "l3=0x7ff (11 of 11 bits)")):
            with self.subTest(f"{flavour} {controls}"), Mounted(flavour) as fake:
                before = fake.schemata()
                states = self.states(fake.run("--allocations", controls, "--json", "-"))
                names = list(states)
                self.assertEqual((names[0], names[1], names[-1]), ("alone", first, last))
                if flavour != "intel-cdp":
                    occupancy, moved = (
                        {name: event["value"] for name, run in states.items() for event in run["events"]
                         if event["name"] == wanted} for wanted in ("llc_occupancy", "mbm_total_bytes"))
                    self.assertLess(0, moved["alone"])
                    if controls != "mb":
                        self.assertLess(occupancy[first], occupancy["alone"])
                self.assert_untouched(fake, before)

    def test_the_table_of_states_shows_the_monitors(self):
        with Mounted("intel") as fake:
            result = fake.run("--allocations", "l3")
            self.assertEqual(result.returncode, 0, result.stderr)
            for word in ("occupancy", "memory bytes/s", "l3=0x3 (2 of 11 bits)", "l3: too few undisturbed rounds"):
                self.assertIn(word, result.stdout)

    def test_allocations_say_what_they_cannot(self):
        nowhere = subprocess.run(command("/nonexistent", "--allocations", "l3"), capture_output=True, text=True, timeout=60)
        self.assertEqual((nowhere.returncode, nowhere.stdout), (1, ""))
        self.assertIn("--allocations needs resctrl", nowhere.stderr)
        self.assertIn("mount -t resctrl", nowhere.stderr)
        with Mounted("intel-cdp") as fake:
            for arguments, status, says in ((["--allocations", "mb"], 1, "cannot limit memory bandwidth"),
                                            (["--allocations", "l2"], 2, "no such control"),
                                            (["--allocations", "l3", "--limit", "l3=1"], 2, "do not go with it")):
                result = fake.run(*arguments)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(says, result.stderr)

    def test_a_command_is_a_line_for_the_shell(self):
        line = "cmd:a=0.03; sleep $a; sleep 0.03 && true"
        result = subprocess.run(command("/nonexistent", "--json", "-", victim=line), capture_output=True, text=True, timeout=60)
        self.assertGreater(self.states(result)["alone"]["time"]["ns_per_op"]["median"], 6e7)

    def test_commands_as_victims(self):
        result = subprocess.run(command("/nonexistent", "--json", "-", victim="cmd:sh -c 'echo words; sleep 0.05'"),
                                capture_output=True, text=True, timeout=60)
        self.assertGreater(self.states(result)["alone"]["time"]["ns_per_op"]["median"], 5e7)
        for victim, says in (("cmd:false", "exit status 1"), ("cmd:no-such-program-here", "no-such-program-here")):
            result = subprocess.run(command("/nonexistent", victim=victim), capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn(says, result.stderr)

    def test_a_neighbour_that_dies_leaves_nothing(self):
        with Mounted("intel") as fake:
            before = fake.schemata()
            result = fake.run(aggressor="cmd:true")
            self.assertEqual(result.returncode, 1)
            self.assertIn("ended by itself", result.stderr)
            self.assert_untouched(fake, before)

    def test_killed_outright_it_leaves_nothing_behind(self):
        with Mounted("intel") as fake:
            before = fake.schemata()
            # A victim's command that leaves its process group and session.
            process = fake.start_long("--limit", "l3=0x3", victim="cmd:setsid sleep 987655 & sleep 987655")
            fake.wait_for_groups()
            time.sleep(0.3)
            process.kill()
            process.communicate(timeout=30)
            for _ in range(200):
                gone = subprocess.run(["pgrep", "-f", "sleep 987655"], stdout=subprocess.DEVNULL).returncode == 1
                if gone and not fake.groups():
                    break
                time.sleep(0.02)
            self.assertTrue(gone)
            self.assert_untouched(fake, before)

    def test_what_a_killed_run_left_is_found_and_removed_and_nothing_else(self):
        with Mounted("intel") as fake:
            gone = subprocess.Popen(["true"])
            gone.wait()
            left = [f"tmaprobe-{gone.pid}-victim", f"mon_groups/tmaprobe-{gone.pid}-run"]
            for name in ["theirs", "mon_groups/theirs", *left]:
                os.mkdir(f"{fake.folder}/{name}")
            result = fake.run("--json", "-")
            self.assertIn("resctrl_leftovers", [warning["id"] for warning in json.loads(result.stdout)["warnings"]])
            result = fake.run("--clean-up")
            self.assertEqual(result.returncode, 0, result.stderr)
            for name in left:
                self.assertIn(f"removed {os.path.basename(name)}", result.stdout)
            self.assertEqual(fake.groups(), ["mon_groups/theirs", "theirs"])

    def test_a_running_tmaprobes_groups_are_no_leftovers(self):
        with Mounted("intel") as fake:
            mine = f"tmaprobe-{os.getpid()}-victim"
            os.mkdir(f"{fake.folder}/{mine}")
            result = fake.run("--clean-up")
            self.assertEqual(result.returncode, 0)
            self.assertEqual(fake.groups(), [mine])

    def test_without_resctrl_the_other_states_are_measured(self):
        result = subprocess.run(command("/nonexistent", "--limit", "l3=3", "--json", "-"), capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(set(self.states(result)), {"alone", "with neighbour"})
        warnings = {w["id"]: w for w in json.loads(result.stdout)["warnings"]}
        self.assertIn("not mounted", warnings["no_resctrl"]["what"])
        self.assertIn("mount -t resctrl", warnings["no_resctrl"]["hint"])


if __name__ == "__main__":
    TMAPROBE = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if not os.path.exists("/dev/fuse") or not shutil.which("fusermount"):
        skip("no /dev/fuse or fusermount here: the fake resctrl cannot be mounted")
    try:
        with Mounted("intel"):
            pass
    except RuntimeError:
        skip("file systems cannot be mounted here, as in many containers")
    if len(os.sched_getaffinity(0)) < 2:
        skip("one CPU: there is no place for a neighbour")
    unittest.main()
