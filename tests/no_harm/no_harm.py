#!/usr/bin/env python3
"""Runs programs that are hard on tracers natively and under tmaprobe, and compares all that others can see of them.

    no_harm.py --build build/test [NAME...]     e.g. 'traps.*' 'real.java'; without a name all of them
    no_harm.py --build build/test --repeat 10 --load both        the long version

Prints a table, worst first. Exit status: 0 no difference, 1 some, 2 wrong usage.
"""

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cases as all_cases
import harness

MOST_DIFFERENCES = 3  # of one case, after which it is not repeated: each hang costs its limit
# What is inherited by each command, so that a run does not depend on who started it.
ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "HOME": tempfile.gettempdir(), "TZ": "UTC"}


@dataclasses.dataclass
class Result:
    name: str
    condition: str
    skipped: str = ""
    native_s: list = dataclasses.field(default_factory=list)
    measured_s: list = dataclasses.field(default_factory=list)
    windows: int = 0
    confirmed: int = 0  # runs that were looked at a second time
    differences: list = dataclasses.field(default_factory=list)  # (repetition, text)


@dataclasses.dataclass
class Bench:
    """How each case is run."""
    tmaprobe: str
    options: list
    work: pathlib.Path
    repeat: int
    work_ms: int
    hang_s: float
    grace_s: float
    confirm: bool

    def measured(self, command, folder):
        return [self.tmaprobe, "--level", "2", *self.options, "-o", str(folder / "report"), "--json",
                str(folder / "record"), "--", *command]

    def run(self, case, condition):
        """Natively and measured, so often as is asked for."""
        result = Result(case.name, condition, case.lacks() or "")
        if result.skipped:
            return result
        folder = self.work / f"{os.getpid()}" / case.name
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**ENVIRONMENT, "NO_HARM_MS": str(self.work_ms), **case.environment}
        with contextlib.ExitStack() as held:
            command = case.command
            if case.limited_megabytes:
                cgroup = held.enter_context(all_cases.Cgroup(case.name, case.limited_megabytes))
                command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(cgroup.folder), *command]

            def observe(words, limit_s):
                return harness.observe(words, folder, environment=environment, limit_s=limit_s, grace_s=self.grace_s,
                                       prepare=case.prepare, not_compared=case.not_compared)

            first = observe(command, 120)
            if first.status == 77:
                result.skipped = first.out.decode(errors="replace").partition("skipped: ")[2].strip() or "it says so"
                return result
            for repetition in range(1, self.repeat + 1):
                native = first if repetition == 1 else observe(command, 120)
                result.native_s.append(native.seconds)
                for each in harness.differences(first, native):
                    result.differences.append((repetition, f"without tmaprobe: {each}"))
                (folder / "record").unlink(missing_ok=True)
                measured = observe(self.measured(command, folder), self.hang_s + 6 * first.seconds)
                result.measured_s.append(measured.seconds)
                result.windows += windows_of(folder / "record")
                found = harness.differences(first, measured)
                if found and self.confirm:
                    # A busy machine may have been the reason: it shows again, against a fresh native run, or it is none.
                    fresh = observe(command, 120)
                    result.confirmed += 1
                    by_itself = harness.differences(first, fresh)
                    measured = observe(self.measured(command, folder), self.hang_s + 6 * fresh.seconds)
                    found = [] if by_itself else harness.differences(fresh, measured)
                result.differences += [(repetition, each) for each in found]
                if len(result.differences) >= MOST_DIFFERENCES:
                    break
        if not result.differences:
            subprocess.run(["rm", "-rf", folder], check=False)
        return result


def windows_of(path):
    """How many windows the record tells of; 0 without a record."""
    try:
        return windows_in(json.loads(path.read_text()))
    except (OSError, ValueError):
        return 0


def windows_in(record):
    counts = []
    for run in record.get("runs", []):
        model = run.get("model") or (run.get("extra") or {}).get("model") or {}
        windows = (model.get("sampling") or model).get("windows") or []
        counts.append(windows if isinstance(windows, int) else len(windows))
    return sum(counts)


class Load:
    """As many processes that do nothing but compute as there are CPUs."""

    def __init__(self, wanted):
        self.count = len(os.sched_getaffinity(0)) if wanted else 0
        self.processes = []

    def __enter__(self):
        for _ in range(self.count):
            process = multiprocessing.Process(target=self.spin, daemon=True)
            process.start()
            self.processes.append(process)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.join()

    @staticmethod
    def spin():
        harness.die_with_parent()
        while True:
            pass


def start_worker():
    harness.die_with_parent()
    harness.become_reaper()


def run_one(job):
    return harness.in_own_namespace(lambda: run_here(*job))


def run_here(bench, case, condition):
    try:
        return bench.run(case, condition)
    except Exception as error:  # a defect of the bench must not look like a missing case
        return Result(case.name, condition, differences=[(0, f"the bench failed: {type(error).__name__}: {error}")])
    finally:
        harness.end_all()


def run_all(bench, cases, conditions, jobs, say):
    results = []
    for condition in conditions:
        with Load(condition == "load"), multiprocessing.Pool(jobs, start_worker) as pool:
            for result in pool.imap_unordered(run_one, [(bench, case, condition) for case in cases]):
                results.append(result)
                say(result)
    return results


def median(values):
    return f"{statistics.median(values):6.2f}" if values else "     -"


def line(result):
    what = result.skipped and f"skipped: {result.skipped}"
    if result.differences:
        first = result.differences[0][0]
        texts = "; ".join(text for repetition, text in result.differences if repetition == first)
        known = f"known ({all_cases.KNOWN[result.name]}); " if result.name in all_cases.KNOWN else ""
        what = f"{known}{len(result.differences)} differences; run {first}: {texts}"
    again = f" ({result.confirmed} looked at again)" if result.confirmed else ""
    return (f"{result.name:42} {result.condition:5} {len(result.measured_s):3} {median(result.native_s)} "
            f"{median(result.measured_s)} {result.windows:6}  {what or 'none'}{again}")


def print_table(results):
    print(f"{'case':42} {'CPUs':5} {'run':>3} {'native':>6} {'meas.':>6} {'window':>6}  differences")
    for result in sorted(results, key=lambda r: (-len(r.differences), bool(r.skipped), r.name)):
        print(line(result))
    known = [r for r in results if r.differences and r.name in all_cases.KNOWN]
    wrong = [r for r in results if r.differences and r not in known]
    skipped = [r for r in results if r.skipped]
    runs = sum(len(r.measured_s) for r in results)
    print(f"\n{len(results)} cases, {runs} measured runs, {sum(r.windows for r in results)} windows: differences in "
          f"{len(wrong)} cases{f' and {len(known)} known ones' if known else ''}, {len(skipped)} skipped")
    return bool(wrong)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases: 'traps.*', 'real.java', 'threads'; default: all")
    parser.add_argument("--build", type=pathlib.Path, help="build folder, which has tmaprobe and the programs")
    parser.add_argument("--tmaprobe", help="the binary; default: that of the build folder")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of our programs; default: the build's")
    parser.add_argument("--option", action="append", default=[], help="a further option for tmaprobe; may be repeated")
    parser.add_argument("--except", nargs="+", default=[], dest="left_out", help="cases to leave out")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, natively and measured")
    parser.add_argument("--load", choices=["alone", "load", "both"], default="alone", help="with all CPUs busy besides")
    parser.add_argument("--confirm", action="store_true", help="a difference counts when it shows a second time, too")
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    parser.add_argument("--work-ms", type=int, default=400, help="how long our own programs work")
    parser.add_argument("--hang-s", type=float, default=20, help="it hangs after so long and six times the native time")
    parser.add_argument("--grace-s", type=float, default=10, help="time for what a command leaves to end by itself")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what the runs that differ left")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    chosen = parser.parse_args(arguments)
    if not chosen.build and not (chosen.tmaprobe and chosen.programs):
        parser.error("say where the programs are: --build build/test")
    chosen.tmaprobe = os.path.abspath(chosen.tmaprobe or chosen.build / "tmaprobe")
    chosen.programs = (chosen.programs or chosen.build / "tests/no_harm/programs").absolute()
    return chosen


def main(arguments):
    chosen = parsed(arguments)
    cases = all_cases.selected(chosen.programs, chosen.names)
    if chosen.left_out:
        out = {case.name for case in all_cases.selected(chosen.programs, chosen.left_out)}
        cases = [case for case in cases if case.name not in out]
    if chosen.list or not cases:
        print("\n".join(case.name for case in cases) or "no such case")
        return 0 if cases else 2
    with tempfile.TemporaryDirectory(prefix="no_harm_") as folder:
        bench = Bench(chosen.tmaprobe, chosen.option, (chosen.keep or pathlib.Path(folder)).absolute(), chosen.repeat,
                      chosen.work_ms, chosen.hang_s, chosen.grace_s, chosen.confirm)
        conditions = ["alone", "load"] if chosen.load == "both" else [chosen.load]

        def say(result):
            if result.differences and sys.stderr.isatty():
                print(line(result), file=sys.stderr)

        return 1 if print_table(run_all(bench, cases, conditions, chosen.jobs, say)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
