"""Event names to perf's config words, read from events/ without tmaprobe's own loader."""
import json
import re
from functools import lru_cache
from pathlib import Path

EVENTS = Path(__file__).resolve().parents[3] / "events"

# What perf's own table generator does with the fixed counters of Intel, and the events only sysfs names.
SPECIAL = {
    "INST_RETIRED.ANY": 0xc0, "CPU_CLK_UNHALTED.THREAD": 0x3c, "CPU_CLK_UNHALTED.CORE": 0x3c,
    "CPU_CLK_UNHALTED.THREAD_ANY": 0x3c | 1 << 21, "TOPDOWN.SLOTS": 0x400, "slots": 0x400,
    "topdown-retiring": 0x8000, "topdown-bad-spec": 0x8100, "topdown-fe-bound": 0x8200, "topdown-be-bound": 0x8300,
    "topdown-heavy-ops": 0x8400, "topdown-br-mispredict": 0x8500, "topdown-fetch-lat": 0x8600,
    "topdown-mem-bound": 0x8700,
}


@lru_cache
def table(cpu):
    """The core events of one CPU's folder: {(name, unit): event}."""
    events = {}
    for file in sorted((EVENTS / cpu).glob("*.json")):
        content = json.loads(file.read_text())
        for event in content if isinstance(content, list) else []:
            if "EventName" in event:
                events[event["EventName"], event.get("Unit", "")] = event
    return events


def number(text):
    return int(str(text).split(",")[0], 0)


def config_of(cpu, name, unit=""):
    """perf's config word of "EVENT", "EVENT:cmask=N" or "0xCODE" on the CPU of that folder; KeyError for an unknown one."""
    if name.startswith("0x"):
        return int(name, 16)
    name, _, modifiers = name.partition(":")
    if name in SPECIAL:
        return SPECIAL[name]
    event = table(cpu).get((name, unit)) or table(cpu).get((name, ""))
    if event is None:
        raise KeyError(f"{cpu} has no event {name}")
    code = number(event["EventCode"])
    if not cpu.startswith("amd"):
        if cpu.startswith("neoverse") or cpu.startswith("hip"):
            return code
    config = (code & 0xff) | (code >> 8 & 0xf) << 32
    config |= number(event.get("UMask", 0)) << 8
    fields = {"edge": number(event.get("EdgeDetect", 0)), "inv": number(event.get("Invert", 0)),
              "any": number(event.get("AnyThread", 0)), "cmask": number(event.get("CounterMask", 0))}
    for key, value in re.findall(r"(\w+)=(\w+)", modifiers):
        fields[key] = int(value, 0)
    return config | fields["edge"] << 18 | fields["any"] << 21 | fields["inv"] << 23 | fields["cmask"] << 24
