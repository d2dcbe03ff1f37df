"""The bench's cases: our own programs, shells, and real programs (real_programs.py)."""

import dataclasses
import fnmatch
import os
import pathlib
import shutil
import subprocess


# What differs by the nature of a copy, and cannot be mended; docs/no-harm-bench.md says how often.
KNOWN = {
    "processes.subreaper": "a process that reaps all orphans is told once of a copy, which is one",
    "watched.attaches": "ptrace of a process that is just being copied is refused: it has one tracer at a time",
}


@dataclasses.dataclass
class Case:
    name: str
    command: list  # "{programs}" in a word stands for the folder of the built programs
    needs: list = dataclasses.field(default_factory=list)  # commands and files that must be there
    prepare: object = None  # called with the scratch folder before each run
    not_compared: tuple = ()  # files whose contents differ from run to run by themselves
    environment: dict = dataclasses.field(default_factory=dict)
    limited_megabytes: int = 0  # run in a memory cgroup with this limit

    def lacks(self):
        """Why the case cannot run here, or None."""
        for need in self.needs:
            if not (os.path.exists(need) if "/" in need else shutil.which(need)):
                return f"{need} is not installed"
        if self.limited_megabytes and not Cgroup.usable():
            return "no memory cgroup can be made here"
        return None


class Cgroup:
    """A memory cgroup of version 1 or 2, made for one case."""

    @staticmethod
    def parent():
        for folder in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            if os.path.exists(f"{folder}/memory.limit_in_bytes") or os.path.exists(f"{folder}/cgroup.subtree_control"):
                return pathlib.Path(folder)
        return None

    @classmethod
    def usable(cls):
        parent = cls.parent()
        if not parent or not os.access(parent, os.W_OK):
            return False
        trial = cls("trial", 64)
        try:
            with trial:
                return trial.limit_file().exists()
        except OSError:
            return False

    def __init__(self, name, megabytes):
        self.folder = self.parent() / f"no_harm_{os.getpid()}_{name}"
        self.megabytes = megabytes

    def limit_file(self):
        first = self.folder / "memory.limit_in_bytes"
        return first if first.exists() else self.folder / "memory.max"

    def __enter__(self):
        self.folder.mkdir()
        if not (self.folder / "memory.limit_in_bytes").exists():
            control = self.folder.parent / "cgroup.subtree_control"
            if "memory" not in control.read_text():
                control.write_text("+memory")
        self.limit_file().write_text(f"{self.megabytes << 20}")
        return self

    def __exit__(self, *_):
        self.folder.rmdir()


def own(program, *names, **options):
    return [Case(f"{program}.{name}", [f"{{programs}}/{program}", name], [f"{{programs}}/{program}"], **options)
            for name in names]


def listed(programs):
    """Every case that the built programs know: they list them when they are asked for none."""
    special = {"memory.core_file": dict(not_compared=("core*",)),
               "memory.near_its_limit": dict(limited_megabytes=64)}
    cases = []
    for program in sorted(pathlib.Path(programs).iterdir()):
        if program.name in ("thirty_two_bits", "targets") or not os.access(program, os.X_OK) or program.is_dir():
            continue
        usage = subprocess.run([program], capture_output=True, text=True, check=False).stderr
        for name in usage.partition("there are:")[2].split():
            cases += own(program.name, name, **special.get(f"{program.name}.{name}", {}))
    return cases


def shells():
    sh, busy = ["sh", "-c"], "{programs}/traps ignored"
    return [
        Case("shell.two_commands", [*sh, f"echo first; {busy}; echo then; exit 3"]),
        Case("shell.tail_call", [*sh, busy]),
        Case("shell.subshells", [*sh, f"( {busy} ) | cat; ( ( exit 4 ) ); echo $?"]),
        Case("shell.loop", [*sh, "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; echo $i"]),
        Case("shell.loop_of_processes", [*sh, "for i in $(seq 300); do /bin/true || echo failed; done; echo done"]),
        Case("shell.background_jobs", [*sh, f"{busy} > a & {busy} > b & wait; cat a b; echo $?"]),
        Case("shell.pipeline", [*sh, "seq 300000 | sort -rn | head -c 100000 | sha256sum"]),
        Case("shell.alarm_of_a_child", [*sh, "{programs}/timers dies_of_alarm; echo status $?"]),
        Case("shell.trap_of_a_child", [*sh, "{programs}/traps dies_of_breakpoint 2>/dev/null; echo status $?"]),
        Case("shell.traps_signals",
             [*sh, f"trap 'echo usr1' USR1; trap 'echo ends' EXIT; {busy}; kill -USR1 $$; {busy}"]),
        Case("shell.waits", ["bash", "-c", "sleep 0.4 & a=$!; (exit 7) & b=$!; wait $b; echo $?; wait $a; echo $?; "
                             "wait -n; echo $?"], ["bash"]),
        Case("shell.process_substitution", ["bash", "-c", "diff <(seq 20000) <(seq 20000 | tac | tac) && echo same"],
             ["bash"]),
        Case("shell.coprocess", ["bash", "-c", "coproc cat; for i in $(seq 500); do echo $i >&${COPROC[1]}; "
                                 "read -u ${COPROC[0]} x; [ $x = $i ] || echo wrong; done; echo done"], ["bash"]),
        Case("shell.timeout", ["timeout", "-s", "KILL", "0.5", "sh", "-c", "while :; do :; done"], ["timeout"]),
        Case("shell.daemon", [*sh, "(setsid sh -c '{programs}/traps ignored > late' &) ; echo left"]),
        Case("shell.status_of_a_signal", [*sh, "kill -TERM $$"]),
        Case("shell.not_found", [*sh, "no_such_command_here 2>/dev/null; exit $?"]),
        Case("shell.standard_error", [*sh, f"echo to the error output >&2; {busy} >&2"]),
        Case("shell.xargs", [*sh, "seq 400 | xargs -P 2 -n 1 sh -c 'exit 0'; echo $?"], ["xargs"]),
        # For the bench's own test.
        Case("harness.writes_and_signals",
             [*sh, "trap 'echo usr1' USR1; kill -USR1 $$; echo text > result; echo out; echo err >&2; exit 3"]),
        Case("thirty_two_bits", ["{programs}/thirty_two_bits"], ["{programs}/thirty_two_bits"]),
    ]


def selected(programs, patterns):
    """All cases, or those that a pattern names: "traps.*", "real.java"; a word without a dot: all of that program."""
    import real_programs  # which needs Case
    cases = listed(programs) + shells() + real_programs.cases()
    for case in cases:
        case.command = [word.replace("{programs}", str(programs)) for word in case.command]
        case.needs = [word.replace("{programs}", str(programs)) for word in case.needs]
    if not patterns:
        return cases
    return [case for case in cases
            if any(fnmatch.fnmatch(case.name, p) or case.name.split(".")[0] == p for p in patterns)]
