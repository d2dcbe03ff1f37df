#!/usr/bin/python3
"""What --format openmetrics writes, read by the OpenMetrics parser of prometheus_client and by promtool."""
import json
import shutil
import subprocess
import sys
import unittest

import real

PARSE = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = [{"name": f.name, "unit": f.unit, "type": f.type, "samples": [[s.name, s.labels, s.value] for s in f.samples]}
            for f in text_string_to_metric_families(sys.stdin.read())]
json.dump(families, sys.stdout)
"""


def families(files):
    written = real.report(files, "openmetrics")
    assert written.returncode == 0, written.stderr
    parsed = subprocess.run([real.own_python(), "-c", PARSE], input=written.stdout, capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
    return {family["name"]: family for family in json.loads(parsed.stdout)}


class OpenMetrics(unittest.TestCase):
    def test_every_record_parses(self):
        files = sorted(real.options.records.glob("*.json"))
        for path in files:
            with self.subTest(record=path.name):
                self.assertTrue(families([path]))
        self.assertTrue(families(files))

    def test_values_units_and_labels(self):
        found = families([real.options.records / "sha256_multiplexed.json"])
        slots = found["tmaprobe_slots_ratio"]
        self.assertEqual(slots["unit"], "ratio")
        labels = {sample[1]["node"]: sample for sample in slots["samples"]}
        node = labels["backend_bound_cpu"]
        self.assertAlmostEqual(node[2], 0.658)
        self.assertEqual({key: node[1][key] for key in ("level", "category", "kernel", "status", "parent")},
                         {"level": "2", "category": "backend", "kernel": "sha256", "status": "measured", "parent": "backend_bound"})
        low = {sample[1]["node"]: sample[2] for sample in found["tmaprobe_slots_low_ratio"]["samples"]}
        self.assertAlmostEqual(low["backend_bound_cpu"], 0.628)
        self.assertTrue(all(sample[2] == 0.2 for sample in found["tmaprobe_counted_ratio"]["samples"]))
        times = {sample[1]["statistic"]: sample[2] for sample in found["tmaprobe_time_per_operation_seconds"]["samples"]}
        self.assertAlmostEqual(times["median"], 38.2e-9)

    def test_what_has_no_value_is_said_not_zero(self):
        found = families([real.options.records / "replay_deep.json"])
        absent = [s[1]["node"] for s in found["tmaprobe_available"]["samples"] if s[2] == 0]
        self.assertEqual(sorted(absent), ["tma_branch_mispredicts", "tma_mem_bandwidth", "tma_mem_latency"])
        valued = {s[1]["node"] for s in found["tmaprobe_slots_ratio"]["samples"]} | {s[1]["node"] for s in found["tmaprobe_share_ratio"]["samples"]}
        self.assertFalse(valued & set(absent))

    def test_hostile_labels_stay_labels(self):
        found = families([real.options.records / "hostile.json"])
        self.assertTrue(all(name.startswith("tmaprobe_") for name in found))
        kernel = found["tmaprobe_slots_ratio"]["samples"][0][1]["kernel"]
        self.assertIn('</script>', kernel)
        self.assertNotIn("\n", kernel)

    def test_the_newest_of_equal_records_counts(self):
        record = json.loads((real.options.records / "sha256_modelled.json").read_text())
        files = []
        for day, value in (("02", 0.5), ("01", 0.4)):
            record["started"] = f"2026-01-{day}T00:00:00Z"
            record["runs"][0]["metrics"][0]["value"] = value
            files.append(real.options.out / f"day{day}.json")
            files[-1].write_text(json.dumps(record))
        slots = families(files)["tmaprobe_slots_ratio"]["samples"]
        self.assertEqual([s[2] for s in slots if s[1]["node"] == "frontend_bound"], [0.5])

    def test_promtool_has_no_complaint(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed")
        for path in sorted(real.options.records.glob("*.json")):
            # promtool reads the older text format, in which the closing line is a comment.
            text = real.report([path], "openmetrics").stdout
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, f"{path.name}: {checked.stdout}{checked.stderr}")


if __name__ == "__main__":
    real.own_python()
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
