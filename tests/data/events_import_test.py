"""third_party/events_import.py on a small tree of its own: what it carries over, and what it reports."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

ROOT = Path(__file__).resolve().parents[2]

UPSTREAM_METRICS = [
    {"MetricName": "tma_frontend_bound", "MetricExpr": "IDLE.SLOTS / (4 * tma_info_thread_clks)", "ScaleUnit": "100%",
     "MetricGroup": "TopdownL1", "MetricThreshold": "tma_frontend_bound > 0.15", "BriefDescription": "Upstream's words."},
    {"MetricName": "tma_info_thread_clks", "MetricExpr": "CYCLES.THREAD", "BriefDescription": "Upstream's words."},
    {"MetricName": "power_pkg", "MetricExpr": "power@energy@", "MetricGroup": "Power", "BriefDescription": "Upstream's words."}]
UPSTREAM_EVENTS = [
    {"EventName": "IDLE.SLOTS", "EventCode": "0x9c", "UMask": "0x1", "Counter": "0,1,2,3", "CounterMask": "0",
     "SampleAfterValue": "2000003", "BriefDescription": "Upstream's words.", "PublicDescription": "More of them."},
    {"EventName": "CYCLES.THREAD", "EventCode": "0x3c", "Counter": "Fixed counter 1", "BriefDescription": "Upstream's words."},
    {"EventName": "UNRELATED.EVENT", "EventCode": "0x11", "BriefDescription": "Upstream's words."}]


class EventsImport(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        (self.root / "third_party").mkdir()
        (self.root / "events").mkdir()
        for name in ("events_import.py", "events_own_metrics.json", "events_without_perf_metrics.json"):
            shutil.copy(ROOT / "third_party" / name, self.root / "third_party")
        selection = json.loads((ROOT / "third_party/events_selection.json").read_text())
        selection["folders"] = {"newlake": "x86/newlake"}
        self.write("third_party/events_selection.json", selection)
        words = {name: f"Words for {name}." for name in ("tma_frontend_bound", "tma_info_thread_clks")}
        self.write("events/descriptions.json", {"metrics": words, "events": {"IDLE.SLOTS": "Idle.", "CYCLES.THREAD": "Cycles."}})
        for arch in ("x86", "arm64"):
            (self.root / "arch" / arch).mkdir(parents=True)
            (self.root / "arch" / arch / "mapfile.csv").write_text("Family-model,Version,Filename,EventType\n")
        with (self.root / "arch/x86/mapfile.csv").open("a") as file:
            file.write("GenuineIntel-6-FF,v1.07,newlake,core\nGenuineIntel-6-FE,v1,other,core\n")
        self.write("arch/x86/newlake/metrics.json", UPSTREAM_METRICS)
        self.write("arch/x86/newlake/pipeline.json", UPSTREAM_EVENTS)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, relative, value):
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    def read(self, relative):
        return json.loads((self.root / "events/newlake" / relative).read_text())

    def run_import(self, *options):
        return subprocess.run([sys.executable, "-B", str(self.root / "third_party/events_import.py"), "--arch-tree",
                               str(self.root / "arch"), *options], capture_output=True, text=True)

    def test_carries_facts_and_not_words(self):
        done = self.run_import("--write", "--source", "Linux 9.9")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        metrics = {m["MetricName"]: m for m in self.read("metrics.json")}
        self.assertEqual(set(metrics), {"tma_frontend_bound", "tma_info_thread_clks"})
        self.assertEqual(metrics["tma_frontend_bound"]["MetricExpr"], UPSTREAM_METRICS[0]["MetricExpr"])
        self.assertEqual(metrics["tma_frontend_bound"]["MetricThreshold"], "tma_frontend_bound > 0.15")
        self.assertEqual(self.read("events.json")[1],
                         {"EventName": "IDLE.SLOTS", "EventCode": "0x9c", "UMask": "0x1", "Counter": "0,1,2,3",
                          "SampleAfterValue": "2000003", "BriefDescription": "Idle."})
        written = "".join(p.read_text() for p in (self.root / "events").rglob("*") if p.is_file())
        self.assertNotIn("Upstream's words", written)
        self.assertNotIn("UNRELATED", written)
        self.assertTrue((self.root / "events/newlake/SOURCE").read_text().startswith("Linux 9.9, "))
        self.assertTrue((self.root / "events/mapfile.csv").read_text().endswith("GenuineIntel-6-FF,v1.07,newlake,core\n"))

    def test_verify_is_quiet_when_all_agrees_and_names_what_does_not(self):
        self.run_import("--write")
        self.assertEqual(self.run_import("--verify").returncode, 0)
        changed = json.loads(json.dumps(UPSTREAM_METRICS))
        changed[0]["MetricExpr"] = "IDLE.SLOTS / (6 * tma_info_thread_clks)"
        self.write("arch/x86/newlake/metrics.json", changed)
        before = (self.root / "events/newlake/metrics.json").read_text()
        done = self.run_import("--verify")
        self.assertEqual(done.returncode, 1)
        self.assertIn('+  "MetricExpr": "IDLE.SLOTS / (6 * tma_info_thread_clks)"', done.stdout)
        self.assertEqual((self.root / "events/newlake/metrics.json").read_text(), before)

    def test_missing_and_borrowed_words_are_reported(self):
        self.write("events/descriptions.json", {"metrics": {"tma_frontend_bound": "Upstream's words."},
                                                "events": {"IDLE.SLOTS": "Idle."}})
        done = self.run_import("--write")
        self.assertEqual(done.returncode, 1)
        for name in ("tma_frontend_bound", "tma_info_thread_clks", "CYCLES.THREAD"):
            self.assertIn(f"no description: {name} ", done.stdout)

    def test_bad_usage(self):
        self.assertEqual(self.run_import("--write", "--cpu", "nosuchlake").returncode, 2)
        self.assertEqual(self.run_import().returncode, 2)
        shutil.rmtree(self.root / "arch")
        self.assertEqual(self.run_import("--verify").returncode, 2)


if __name__ == "__main__":
    runner.main()
