"""Scenario files: what is run in which machine under which PMU, and what must come out.

A file holds one boot:
  {"machine": "zen4", "pmu": {"kind": "zen4", "workload": "zen4-mixed"}, "scenarios": [
     {"name": "...", "pmu": {"watchdog": 1}, "setup": ["..."], "user": "plain", "run": "...", "repeat": 20,
      "expect": {...}}]}
A scenario's "pmu" is laid over the file's. docs/emulated-machines.md lists every key.
"""
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from guestlib import encodings, truth

HERE = Path(__file__).resolve().parent.parent
WORKLOADS = {name: value for name, value in json.loads((HERE / "workloads.json").read_text()).items() if name != "_"}
# A region of a built-in kernel, a command, and a command that runs long enough for every group to have its turns.
WORDS = {
    "KERNEL": "tmaprobe --kernel sha256 --size 16K --level 2 --source perf --repeat 3 --json -",
    "KERNEL_TLB": "tmaprobe --kernel sha256 --size 16K --level 2 --metric tlb --source perf --repeat 3 --json -",
    "COMMAND_TLB": "tmaprobe --level 2 --metric tlb --source perf --json - -- @LONG@",
    "COMMAND": "tmaprobe --level 2 --source perf --json - -- @LOOP@",
    "LONG": "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'",
    "LOOP": "sh -c 'i=0; while [ $i -lt 15000 ]; do i=$((i+1)); done'",
    # Each run of it is longer than the one before, three times in turn: passes of different length.
    "UNEVEN": "sh -c 'n=$(cat /tmp/turn 2> /dev/null || echo 0); echo $((n+1)) > /tmp/turn; i=0; "
              "while [ $i -lt $((9000*(1+n%3))) ]; do i=$((i+1)); done'",
    # Another user of the counters, pinned on every CPU: nothing else gets them until it ends.
    "TAKE_ALL": "perf stat -a -o /dev/null -e '{cycles,instructions,branches,branch-misses,cache-misses,cache-references}:D' sleep",
    "TAKE_GENERAL": "perf stat -a -o /dev/null -e '{branches,branch-misses,cache-misses,cache-references}:D' sleep",
}
KEYS = {"name", "pmu", "setup", "cleanup", "user", "run", "repeat", "expect", "about"}


class ScenarioError(Exception):
    """A scenario file that cannot be understood."""


@dataclass
class Workload:
    """Rates of one PMU and what follows from them."""
    name: str
    cpu: str
    unit: str
    formulas: str
    rates: dict
    published_percent: dict = field(default_factory=dict)
    split: dict = field(default_factory=dict)
    latencies: dict = field(default_factory=dict)

    def rate(self, event):
        return self.rates[event]

    def config(self, event):
        return encodings.config_of(self.cpu, event, self.unit)

    def by_config(self):
        return {self.config(event): rate for event, rate in self.rates.items()}

    def metrics(self):
        """The true value of every metric of levels 1 and 2; those that no event tells are the workload's own."""
        return truth.FORMULAS[self.formulas](self.rate) | self.split

    def translation(self):
        """The true value of every translation metric that is checked."""
        return truth.TRANSLATION[self.formulas](self.rate)

    def parameter(self, planted=None):
        """The module's rates parameter, in counts per millisecond; planted events count that factor more."""
        factors = {self.config(event): factor for event, factor in (planted or {}).items()}
        return ",".join(f"{config:#x}:{round(rate * 1000 * factors.get(config, 1))}"
                        for config, rate in sorted(self.by_config().items()))


def workload(name):
    if name not in WORKLOADS:
        raise ScenarioError(f"unknown workload {name}; there are {', '.join(WORKLOADS)}")
    entry = WORKLOADS[name]
    return Workload(name, entry["cpu"], entry.get("unit", ""), entry["formulas"], entry["rates"],
                    entry.get("published_percent", {}), entry.get("split", {}), entry.get("latencies", {}))


@dataclass
class Scenario:
    name: str
    pmu: dict
    setup: list
    cleanup: list
    user: str
    run: str
    repeat: int
    expect: dict

    def workload(self):
        return workload(self.pmu["workload"]) if "workload" in self.pmu else None

    def atom_workload(self):
        return workload(self.pmu["atom_workload"]) if "atom_workload" in self.pmu else None

    @staticmethod
    def other(name):
        """One of the workloads, by its name."""
        return workload(name)

    def command(self):
        """What is run in the guest, with the words between @ filled in."""
        return self.filled_in(self.run)

    def filled_in(self, command):
        # A word may hold another, which stands later in the list.
        for word, text in WORDS.items():
            command = command.replace(f"@{word}@", text)
        for word, work in (("PERF_EVENTS", self.workload()), ("ATOM_EVENTS", self.atom_workload())):
            if work:
                command = command.replace(f"@{word}@", perf_events(work))
        return command

    def module_parameters(self):
        """insmod's arguments, or none where the machine has a PMU of its own (or is to have none)."""
        if not self.pmu.get("kind"):
            return ""
        words = [f"rates={self.workload().parameter(self.pmu.get('planted'))}"]
        if self.atom_workload():
            words.append(f"atom_rates={self.atom_workload().parameter()}")
        if self.pmu.get("other_workload"):
            words.append(f"other_rates={workload(self.pmu['other_workload']).parameter()}")
        if self.pmu.get("errors"):
            failing = self.pmu["errors"]
            words.append("errors=" + ",".join(f"{self.workload().config(event):#x}:{code}"
                                              for event, code in failing.items()))
        latencies = self.pmu.get("latencies", self.workload().latencies)
        if latencies:
            words.append("latencies=" + ",".join(f"{self.workload().config(event):#x}:{cycles}"
                                                 for event, cycles in latencies.items()))
        words += [f"{key}={value}" for key, value in self.pmu.items()
                  if key not in ("workload", "atom_workload", "other_workload", "errors", "planted", "latencies")]
        return " ".join(map(shlex.quote, words))


def perf_events(work):
    """perf's -e options for all events of a workload: topdown events behind slots, the rest in fours.

    Each is named c<config> so that the output can be read back by config.
    """
    pmu = work.unit or ("armv8_pmuv3_0" if work.cpu.startswith(("neoverse", "hip")) else "cpu")
    configs = sorted(work.by_config())
    in_metrics = [config for config in configs if config == 0x400 or 0x8000 <= config <= 0x8700]
    if len(in_metrics) < 2:
        in_metrics = []
    rest = [config for config in configs if config not in in_metrics]
    groups = [in_metrics] if in_metrics else []
    groups += [rest[i:i + 4] for i in range(0, len(rest), 4)]
    named = ["{" + ",".join(f"{pmu}/config={c:#x},name=c{c:x}/" for c in group) + "}" for group in groups]
    return " ".join(f"-e '{group}'" for group in named)


@dataclass
class ScenarioFile:
    name: str
    machine: str
    scenarios: list


def load(path):
    try:
        content = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path.name}: {error}") from error
    scenarios = []
    for entry in content["scenarios"]:
        unknown = set(entry) - KEYS
        if unknown or "run" not in entry or "name" not in entry:
            raise ScenarioError(f"{path.name}: {entry.get('name', '?')}: unknown {sorted(unknown)} or no name or run")
        scenarios.append(Scenario(entry["name"], content.get("pmu", {}) | entry.get("pmu", {}), entry.get("setup", []),
                                  entry.get("cleanup", []), entry.get("user", "root"), entry["run"],
                                  entry.get("repeat", 1), entry.get("expect", {})))
    return ScenarioFile(path.stem, content["machine"], scenarios)


def guest_script(file):
    """The shell script that runs all scenarios of a file in the guest, each run's outputs in files of its own."""
    lines = ["export PATH=/tool:/usr/bin:/bin:/usr/sbin:/sbin LD_LIBRARY_PATH=/tool/lib HOME=/tmp NO_COLOR=1",
             "cd /tmp"]
    loaded = ""
    for number, scenario in enumerate(file.scenarios):
        parameters = scenario.module_parameters()
        if parameters != loaded:
            if loaded:
                lines.append("rmmod known_pmu")
            if parameters:
                lines.append(f"insmod /tool/known_pmu.ko {parameters} || echo 'guest: the module did not load' > /dev/kmsg")
            loaded = parameters
        lines += map(scenario.filled_in, scenario.setup)
        command = f"sh -c {shlex.quote(scenario.command())}"
        if scenario.user != "root":
            command = f"su {scenario.user} -s /bin/sh -c {shlex.quote(command)}"
        lines += [f"i=0; while [ $i -lt {scenario.repeat} ]; do",
                  f"  {command} > /out/{number}.$i.out 2> /out/{number}.$i.err < /dev/null",
                  f"  echo $? > /out/{number}.$i.status; i=$((i+1)); done"]
        lines += scenario.cleanup
        lines.append(f"cut -d' ' -f1 /proc/uptime > /out/{number}.uptime")
    return "\n".join(lines) + "\n"
