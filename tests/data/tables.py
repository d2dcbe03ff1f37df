"""The tables in `events/` as the data tests read them, and invented counts for their events."""
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path

import metric_language as language

EVENTS = Path(__file__).resolve().parents[2] / "events"

# Events that perf itself provides, whatever the CPU.
BUILTIN = {"duration_time", "user_time", "system_time", "instructions", "cycles", "cpu-cycles"}
# The encodings that perf's table generator gives to names whose table entry is a fixed counter.
FIXED = {"inst_retired.any": 0xC0, "inst_retired.any_p": 0xC0, "cpu_clk_unhalted.thread": 0x3C,
         "cpu_clk_unhalted.core": 0x3C, "cpu_clk_unhalted.thread_any": 0x3C, "instructions": 0xC0, "cycles": 0x3C, "cpu-cycles": 0x3C}
TERMS = {"cmask": "CounterMask", "inv": "Invert", "edge": "EdgeDetect", "any": "AnyThread",
         "umask": "UMask", "event": "EventCode", "offcore_rsp": "MSRValue"}
# Cycles of Intel and AMD and Arm, and Intel's slots.
WEIGHTS = {"EventCode=0x3c": 25, "EventCode=0x76": 25, "EventCode=0x11": 25, "cycles": 25,
           "EventCode=0x0,UMask=0x4": 100, "EventCode=0xa4,UMask=0x1": 100}
ENCODING = ["EventCode", "UMask", "CounterMask", "Invert", "EdgeDetect", "AnyThread", "MSRIndex", "MSRValue"]


@lru_cache(maxsize=None)
def read(relative):
    return json.loads((EVENTS / relative).read_text())


ARM = ("hip08", "neoverse", "ampere", "t410")


def folders():
    return sorted(p.name for p in EVENTS.iterdir() if p.is_dir())


def number(text):
    return int(str(text).split(",")[0], 0)


TABLE_FILES = ("events.json", "metrics.json", "tlb-metrics.json", "approximate-tree.json")


class Cpu:
    """One PMU of one folder: its metrics and events."""

    def __init__(self, folder, unit):
        self.folder, self.unit, self.perf_metrics_hidden = folder, unit, False
        rows = [row for f in TABLE_FILES if (EVENTS / folder / f).exists() for row in read(f"{folder}/{f}")]
        self.metrics = {m["MetricName"]: m for m in rows if "MetricName" in m and m.get("Unit") == unit}
        self.events = {e["EventName"].lower(): e for e in rows if "EventName" in e and e.get("Unit") in (unit, None)}

    def without_perf_metrics(self):
        """This CPU where the machine hides PERF_METRICS, or None where nothing changes."""
        if not (EVENTS / self.folder / "without-perf-metrics").is_dir() or self.unit == "cpu_atom":
            return None
        other = Cpu(self.folder, self.unit)
        other.perf_metrics_hidden = True
        for entry in read(f"{self.folder}/without-perf-metrics/metrics.json"):
            name = entry["MetricName"]
            other.metrics[name] = {**other.metrics[name], "MetricExpr": entry["MetricExpr"]}
        return other

    def __repr__(self):
        return self.folder + (f"/{self.unit}" if self.unit else "")

    def expressions(self):
        return {name: m["MetricExpr"] for name, m in self.metrics.items()}

    def event_of(self, identifier):
        """(table entry or None, terms, modifier letters) of an identifier, escapes removed."""
        modifiers, terms, name = "", {}, identifier
        if "@" in identifier:
            head, inner = identifier.split("@")[:2]
            modifiers = identifier.rsplit("@", 1)[1].lstrip(":")
            if head.lower() in self.events:
                name, parts = head, inner.split(",")
            else:
                name, *parts = inner.split(",")
                if "=" in name:
                    name, parts = "", [name, *parts]
            terms = {part.partition("=")[0]: part.partition("=")[2] or "1" for part in parts if part}
        elif ":" in identifier:
            name, modifiers = identifier.split(":", 1)
        return self.events.get(name.lower()), name, terms, modifiers

    def encoding(self, identifier):
        """What the hardware counts, spelt alike for every spelling of it; None for an unknown event."""
        entry, name, terms, modifiers = self.event_of(language.unescape(identifier))
        if entry is None and name.lower() not in BUILTIN and "event" not in terms:
            return "msr/tsc" if identifier.startswith("msr@tsc") else None
        fields = self.fields(entry, name, terms)
        if entry is None and name.lower() not in FIXED and not terms:
            return name.lower()
        text = ",".join(f"{key}={fields[key]:#x}" for key in ENCODING if fields[key] or key == "EventCode")
        return f"{text}:{modifiers}" if modifiers else text

    def config(self, identifier):
        """(config, config1) of perf_event_attr by the kernel's layout for this vendor; None for what no core PMU counts."""
        entry, name, terms, _ = self.event_of(language.unescape(identifier))
        if entry is None and "event" not in terms:
            return None
        fields = self.fields(entry, name, terms)
        event = fields["EventCode"]
        if self.folder.startswith(ARM):
            return event, 0
        umask = fields["UMask"]  # its upper half lies apart: umask=config:8-15,40-47
        config = (event & 0xFF | (umask & 0xFF) << 8 | (umask >> 8) << 40 | fields["EdgeDetect"] << 18 | fields["AnyThread"] << 21 |
                  fields["Invert"] << 23 | fields["CounterMask"] << 24 | (event >> 8) << 32)
        return config, fields["MSRValue"]

    def fields(self, entry, name, terms):
        """The numbers that make up an encoding, terms of the identifier over those of the table."""
        fields = {key: number((entry or {}).get(key, 0)) for key in ENCODING}
        if name.lower() in FIXED:
            fields = {key: 0 for key in ENCODING} | {"EventCode": FIXED[name.lower()],
                                                     "AnyThread": int(name.lower().endswith("thread_any"))}
        for term, value in terms.items():
            if term in TERMS:
                fields[TERMS[term]] = number(value)
        if not fields["MSRValue"]:
            fields["MSRIndex"] = 0
        return fields


def cpus():
    found = []
    for folder in folders():
        units = sorted({e["Unit"] for e in read(f"{folder}/events.json") if "Unit" in e}) or [None]
        found += [Cpu(folder, unit) for unit in units]
    return found


def invented_count(encoding, seed):
    """A count that depends on nothing but the encoding and the seed; seed 0 gives 0 for all.

    The first 8 bytes of SHA-256 of "encoding|seed", read big-endian, modulo 10^9, plus 1000.
    Even seeds are more like a real run: cycles are 25 times that and slots 100 times, so that
    most shares are below one. Retirement latencies (`:R`, cycles per event) are the hash
    modulo 400, in halves.
    """
    if seed == 0:
        return 0.0
    digest = hashlib.sha256(f"{encoding}|{seed}".encode()).digest()
    value = int.from_bytes(digest[:8], "big")
    if encoding.endswith(":R"):
        return (value % 400) / 2
    weight = WEIGHTS.get(encoding.split(":")[0], 1) if seed % 2 == 0 else 1
    return float(weight * (value % 1_000_000_000 + 1000))


def slots_of(folder, cpu_id=None):
    for row in read("cpus.json"):
        if row["folder"] == folder and "slots" in row:
            if "cpu" not in row or (cpu_id and midr_matches(row["cpu"], cpu_id)):
                return row["slots"]
    return None


def midr_matches(pattern, cpu_id):
    """perf's rule: all but variant and revision equal, and the CPU's variant and revision not older."""
    if not cpu_id.startswith("0x"):
        return re.fullmatch(pattern, cpu_id) is not None
    wanted, actual = int(pattern, 16), int(cpu_id, 16)
    rest = ~(0xF << 20 | 0xF)
    return wanted & rest == actual & rest and \
        (actual >> 20 & 0xF, actual & 0xF) >= (wanted >> 20 & 0xF, wanted & 0xF)


def constants(folder, smt, core_wide, cpu_id="", pmem=0):
    values = {"#smt_on": smt, "#core_wide": core_wide, "#target_cpu": core_wide, "#num_cpus": 64,
              "#num_cpus_online": 64, "#num_cores": 32, "#num_dies": 2, "#num_packages": 2,
              "#system_tsc_freq": 2.1e9, "#has_pmem": pmem,
              "#slots": slots_of(folder, cpu_id) or 6}
    return {name: float(value) for name, value in values.items()}


def evaluator(cpu, counts, values, cpu_id=""):
    """Evaluates `cpu`'s metrics; counts: function of an identifier as written."""
    return language.Evaluator(cpu.expressions(), counts, values,
                              lambda pattern: midr_matches(pattern, cpu_id) if cpu_id else False,
                              lambda name: cpu.encoding(name) is not None)


def invented(cpu, seed):
    """Counts for every event of `cpu`, by the identifier as written."""
    def count(identifier):
        encoding = cpu.encoding(identifier)
        return None if encoding is None else invented_count(encoding, seed)
    return count
