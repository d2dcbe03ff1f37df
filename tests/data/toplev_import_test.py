"""The real toplev program on an imported `perf stat -x;` file with a forced CPU, levels 1 and 2,
with Intel's PERF_METRICS and, where a machine may hide them, without.

toplev itself says which events it wants (`--print`); the file gives each its invented count. The
same file goes to `tmaprobe replay` where TMAPROBE names the program, whose record must hold the
same values. toplev prints tenths of a percent, so that it is compared to half of one; replay's
record is compared to parts in 10^9.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner
import tables
import toplev
from tables_test import place

TARGETS = {"skylakex": "skx", "cascadelakex": "clx", "icelakex": "icx", "sapphirerapids": "spr"}
FIELDS = dict.fromkeys(["CounterMask", "Invert", "EdgeDetect", "AnyThread", "MSRIndex", "MSRValue", "PEBS", "Data_LA",
                        "Deprecated"], "0") | {"EventCode": "0x00", "UMask": "0x00", "Counter": "0,1,2,3",
                                               "SampleAfterValue": "100003", "Errata": "null", "PublicDescription": ""}
SEED = 2


class Import(unittest.TestCase):
    def setUp(self):
        if not toplev.available():
            self.skipTest("pmu-tools is not installed: third_party/setup.sh --test installs it")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = Path(self.folder.name)

    def toplev(self, cpu, *options):
        """toplev's output for a forced CPU whose event list is this project's table."""
        folder = cpu.folder
        events = [FIELDS | event for event in tables.read(f"{folder}/events.json")]
        (self.here / "events.json").write_text(json.dumps({"Header": {}, "Events": events}))
        place_of_toplev = Path(toplev.load("clx_server_ratios").__file__).parent
        environment = os.environ | {"FORCECPU": TARGETS[folder], "FORCEHT": "0",
                                    "EVENTMAP": str(self.here / "events.json"), "PYTHONPATH": str(place_of_toplev)}
        if not cpu.perf_metrics_hidden:
            environment["FORCEMETRICS"] = "1"
        done = subprocess.run([sys.executable, "-B", str(place_of_toplev / "toplev.py"), "-l2", *options],
                              env=environment, capture_output=True, text=True, cwd=self.here, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def counts(self, cpu):
        """`perf stat -x;` lines of the events that toplev wants at level 2."""
        wanted = re.search(r"-e '(.*?)' ", self.toplev(cpu, "--print", "true"))[1]
        lines = []
        for event in re.findall(r"[^,{}/]+/[^/]*/[a-z]*|[^,{}]+", wanted):
            written = event.replace("=", "\\=").replace(",", "\\,").replace("/", "@")
            if event == "dummy":
                continue
            named = re.fullmatch(r"cpu@([a-z-]+)@", written)
            encoding = cpu.encoding(named[1] if named else written)
            self.assertIsNotNone(encoding, event)
            lines.append(f"{tables.invented_count(encoding, SEED):.0f};;{event};1000000000;100.00;;\n")
        return "".join(lines)

    def expected(self, cpu):
        engine = tables.evaluator(cpu, tables.invented(cpu, SEED), tables.constants(cpu.folder, 0, 1))
        return {name: engine.metric(name) for name in cpu.metrics if place(cpu, name).get("level", 9) <= 2}

    def test_toplev_and_replay_read_the_same_tree(self):
        replayed = 0
        cpus = [c for c in tables.cpus() if c.folder in TARGETS]
        for cpu in cpus + [other for other in (c.without_perf_metrics() for c in cpus) if other]:
            (self.here / "counts.csv").write_text(self.counts(cpu))
            output = self.toplev(cpu, "-v", "--no-desc", "-x,", "--import", "counts.csv")
            theirs = {"tma_" + row[0].split(".")[-1].lower(): float(row[1]) / 100 for row in csv.reader(output.splitlines())
                      if len(row) > 3 and row[2].startswith("% Slots")}
            expected = self.expected(cpu)
            self.assertEqual(set(theirs), set(expected), output)
            for name, value in expected.items():
                self.assertLessEqual(abs(theirs[name] - value), 0.00051, (cpu, name, theirs[name], value))
            replayed += self.replay(cpu, expected)
        if not replayed:
            print("tmaprobe replay was not compared: TMAPROBE does not name the program", file=sys.stderr)

    def replay(self, cpu, expected):
        """1 when `tmaprobe replay` gave the same values on the file that toplev read."""
        program = os.environ.get("TMAPROBE")
        if not program:
            return 0
        if "--target" not in subprocess.run([program, "replay", "--help"], capture_output=True, text=True).stdout:
            return 0  # a build without the replay command
        # toplev wants some events in several groups; replay takes each once.
        lines = dict.fromkeys((self.here / "counts.csv").read_text().splitlines(keepends=True))
        (self.here / "replay.csv").write_text("".join(lines))
        done = subprocess.run([program, "replay", str(self.here / "replay.csv"), "--target", cpu.folder, "--level", "2",
                               "--smt", "0", "--system-wide", "1", "--json", "-"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        values = {m["name"]: m.get("value") for run in json.loads(done.stdout)["runs"] for m in run["metrics"]}
        for name, value in expected.items():
            self.assertAlmostEqual(values[name], value, delta=1e-9 * max(1, abs(value)), msg=f"{cpu} {name}")
        return 1


if __name__ == "__main__":
    runner.main()
