"""`tmaprobe plan` and `replay` for every CPU, on made-up output of `perf stat -x,`.

What plan tells perf to count is enough for the whole tree. Replay takes events in every spelling:

each event that the CPU's metrics need stands in the file once, in turn by its table name, as
`cpu/event=..,umask=../`, as `cpu/config=../` or as `rNNN`. Every metric in the record must be what
the independent evaluator makes of the same counts.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import metric_language as language
import runner
import tables

SEED = 2
PROGRAM = os.environ.get("TMAPROBE", "")
TERMS = {"EventCode": "event", "UMask": "umask", "EdgeDetect": "edge", "AnyThread": "any", "Invert": "inv",
         "CounterMask": "cmask"}
EXTRA = {0x1A6: "offcore_rsp", 0x1A7: "offcore_rsp", 0x3F7: "frontend", 0x3F6: "ldlat"}


def works():
    if not PROGRAM:
        return False
    return "--target" in subprocess.run([PROGRAM, "replay", "--help"], capture_output=True, text=True).stdout


def spellings(cpu, identifier):
    """All ways in which perf would take an event; the identifier has no escapes."""
    if identifier in tables.BUILTIN or identifier.startswith("msr@"):
        return [identifier.replace("@", "/")]
    entry, name, terms, modifiers = cpu.event_of(identifier)
    suffix = ":" + modifiers if modifiers else ""
    pmu = cpu.unit or ("armv8_pmuv3_0" if cpu.folder.startswith(tables.ARM) else "cpu")
    fields = cpu.fields(entry, name, terms)
    encoded = [f"{term}={fields[key]:#x}" for key, term in TERMS.items() if fields[key] or key == "EventCode"]
    if fields["MSRValue"]:
        encoded.append(f"{EXTRA[fields['MSRIndex']]}={fields['MSRValue']:#x}")
    ways = [f"{pmu}/{','.join(encoded)}/{modifiers}"]
    if entry and not terms:
        ways.append(f"{pmu}/{entry['EventName']}/{modifiers}" if cpu.unit else entry["EventName"] + suffix)
    if not fields["MSRValue"]:
        config = cpu.config(identifier)[0]
        ways.append(f"{pmu}/config={config:#x}/{modifiers}")
        if not cpu.unit:
            ways.append(f"r{config:x}{suffix}")
    return ways


def count(cpu, identifier):
    """As invented, but a latency at retirement comes from the table: perf does not count it."""
    entry, _, _, modifiers = cpu.event_of(language.unescape(identifier))
    if modifiers == "R":
        return float(entry["RetirementLatencyMean"]) if "RetirementLatencyMean" in entry else None
    return tables.invented(cpu, SEED)(identifier)


def perf_stat(cpus):
    """Lines of `perf stat -x;`, one for each encoding that the metrics need."""
    lines, seen = [], set()
    for cpu in cpus:
        for metric in cpu.metrics.values():
            for written in language.names(language.parse(metric["MetricExpr"])):
                plain = language.unescape(written)
                encoding = None if plain in cpu.metrics else cpu.encoding(written)
                key = (encoding, cpu.unit if encoding not in ("duration_time", "msr/tsc") else None)
                if encoding is None or encoding.endswith(":R") or key in seen:
                    continue
                seen.add(key)
                ways = spellings(cpu, plain)
                value = count(cpu, written) * (1e9 if plain == "duration_time" else 1)
                unit = "ns" if plain == "duration_time" else ""
                lines.append(f"{value:.0f};{unit};{ways[len(lines) % len(ways)]};1000000;100.00;;\n")
    return "".join(lines)


@unittest.skipUnless(works(), "TMAPROBE does not name a tmaprobe that replays")
class Replay(unittest.TestCase):
    def record(self, folder, cpu_id, cpus):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "counts.csv"
            path.write_text(perf_stat(cpus))
            done = subprocess.run([PROGRAM, "replay", str(path), "--target", cpu_id or folder, "--level", "6", "--metric",
                                   "tlb", "--smt", "0", "--system-wide", "1", "--slots",
                                   str(tables.slots_of(folder, cpu_id) or 6), "--json", "-"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{folder}: {done.stderr}")
            return json.loads(done.stdout)

    def test_every_cpu(self):
        compared, wrong = 0, []
        for folder in tables.folders():
            cpus = [cpu for cpu in tables.cpus() if cpu.folder == folder]
            cpu_id, expected = cpu_id_of(folder), {}
            for cpu in cpus:
                constants = tables.constants(folder, 0, 1, cpu_id)
                engine = tables.evaluator(cpu, lambda name, cpu=cpu: count(cpu, name), constants, cpu_id)
                for name, metric in cpu.metrics.items():
                    value = engine.metric(name)
                    expected.setdefault(name, []).append(scaled(value, metric.get("ScaleUnit", "")))
            for run in self.record(folder, cpu_id, cpus)["runs"]:
                for metric in run["metrics"]:
                    got = metric.get("value")
                    if not any(same(got, value) for value in expected[metric["name"]]):
                        wrong.append(f"{folder} {metric['name']}: {got} for {expected[metric['name']]} {metric.get('reason', '')}")
                    compared += 1
        self.assertEqual(wrong, [])
        self.assertGreater(compared, 3000)
        print(f"{compared} values of {len(tables.folders())} CPUs", file=sys.stderr)


class Plan(unittest.TestCase):
    @unittest.skipUnless(works(), "TMAPROBE does not name a tmaprobe that replays")
    def test_what_plan_counts_is_enough_for_the_tree(self):
        for folder in tables.folders():
            cpus = [cpu for cpu in tables.cpus() if cpu.folder == folder]
            target = cpu_id_of(folder) or folder
            done = subprocess.run([PROGRAM, "plan", "--target", target, "--level", "6"], capture_output=True, text=True)
            if "publishes no top-down tree" in done.stderr:
                continue
            self.assertEqual(done.returncode, 0, f"{folder}: {done.stderr}")
            with tempfile.TemporaryDirectory() as scratch:
                for output, events in re.findall(r"^perf stat -x, -o (\S+) .*?-e '(.*?)'", done.stdout, re.MULTILINE):
                    Path(scratch, output).write_text(as_perf_would_print(cpus, events))
                command = re.search(r"^tmaprobe (replay .*)$", done.stdout, re.MULTILINE)[1].split()
                replayed = subprocess.run([PROGRAM, *command, "--slots", "6", "--json", "-"], capture_output=True, text=True,
                                          cwd=scratch)
            self.assertEqual(replayed.returncode, 0, f"{folder}: {replayed.stderr}")
            metrics = [m for run in json.loads(replayed.stdout)["runs"] for m in run["metrics"] if m["level"]]
            self.assertGreater(len(metrics), 1, folder)
            # A latency at retirement is sampled, not counted; some tables publish it, others leave it to perf.
            lacking = [(m["name"], m["reason"]) for m in metrics
                       if m["status"] not in ("replayed", "approximate") and not "has not published the latency at retirement" in m["reason"]]
            self.assertEqual(lacking, [], folder)


def as_perf_would_print(cpus, events):
    """The lines of `perf stat -x;` for a list of events, each with the count of its encoding."""
    encodings = {}
    for cpu in cpus:
        for metric in cpu.metrics.values():
            for written in language.names(language.parse(metric["MetricExpr"])):
                plain = language.unescape(written)
                if plain not in cpu.metrics and cpu.config(written):
                    encodings[cpu.unit or "", *cpu.config(written)] = cpu.encoding(written)
    lines = []
    for event in dict.fromkeys(re.findall(r"[^,{}/]+/[^/]*/[a-z]*|[^,{}]+", events)):
        pmu, _, terms = event.rstrip("/").rpartition("/")
        fields = dict(term.split("=") for term in terms.split(",") if "=" in term)
        raw = re.fullmatch(r"r([0-9a-f]+)", event)
        config = int(raw[1], 16) if raw else int(fields.get("config", "-1"), 0)
        key = (pmu if pmu.startswith("cpu_") else "", config, int(fields.get("config1", "0"), 0))
        encoding = encodings.get(key, "EventCode=0x0,UMask=0x4" if "slots" in event else event)
        scale, unit = (1e9, "ns") if event == "duration_time" else (1, "")
        lines.append(f"{tables.invented_count(encoding, SEED) * scale:.0f};{unit};{event};1000000;100.00;;\n")
    return "".join(lines)


def cpu_id_of(folder):
    return next((r["cpu"] for r in tables.read("cpus.json") if r["folder"] == folder and "cpu" in r), "")


def scaled(value, unit):
    """As the record has it: shares as fractions also where the vendor's formula or unit makes percent."""
    factor = re.match(r"[0-9.e]*", unit)[0].rstrip("e")
    if value is None or not factor or factor == "100":
        return value
    return value / 100 if unit.startswith("1percent") else value * float(factor)


def same(got, value):
    if got is None or value is None:
        return got is value
    return abs(got - value) <= 1e-8 * max(abs(value), 1e-9)


if __name__ == "__main__":
    runner.main()
