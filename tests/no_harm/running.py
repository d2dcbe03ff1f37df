"""What the bench's tests of tmaprobe itself share: where things are, processes to look at, and running the tool."""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness
import no_harm


class Places:
    """Where the binary and the programs are; set from the command line."""
    tmaprobe = None
    programs = None
    options = []
    long = False


def main(doc, reaper=True):
    """Takes our own options from the command line, and leaves the rest to unittest. `reaper`: this process gets the
    orphans of what it starts; no copy can be made then of what is not tmaprobe's own child."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0], add_help=False)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--tmaprobe")
    parser.add_argument("--option", action="append", default=[], help="a further option for tmaprobe")
    parser.add_argument("--long", action="store_true", help="as often as the project promises, and not as CI does")
    chosen, rest = parser.parse_known_args()
    Places.tmaprobe = os.path.abspath(chosen.tmaprobe or chosen.build / "tmaprobe")
    Places.programs = (chosen.build / "tests/no_harm/programs").absolute()
    Places.options, Places.long = chosen.option, chosen.long
    if reaper:
        harness.become_reaper()
    unittest.main(argv=[sys.argv[0], *rest])


def program(name):
    return str(Places.programs / name)


@contextlib.contextmanager
def target(name, milliseconds=60_000, before=()):
    """A process of programs/targets that is as its name says: yields its Popen and the pid that it names."""
    environment = {**os.environ, "NO_HARM_MS": str(milliseconds)}
    process = subprocess.Popen([*before, program("targets"), name], stdout=subprocess.PIPE, text=True, env=environment,
                               start_new_session=True)
    try:
        words = process.stdout.readline().split()
        if words[:1] != ["ready"]:
            raise unittest.SkipTest(" ".join(words))
        yield process, int(words[1])
    finally:
        harness.end_all()  # its children too, which hold the pipe open
        process.stdout.close()
        process.wait()


@dataclasses.dataclass
class Ran:
    """What came of one run of tmaprobe."""
    status: int
    out: str
    err: str
    report: str
    record: dict | None

    def said(self):
        return self.out + self.err + self.report

    def windows(self):
        return no_harm.windows_in(self.record or {})

    def tree(self):
        """The metrics that have a value."""
        return [metric for run in (self.record or {}).get("runs", []) for metric in run.get("metrics", [])
                if metric.get("value") is not None]


def measured(*words, before=(), patience_s=90, environment=None):
    """Runs `BEFORE tmaprobe --level 2 WORDS`, report and record kept apart; one that does not end fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # some of these run as another user
        report, record = pathlib.Path(folder, "report"), pathlib.Path(folder, "record")
        command = [*before, Places.tmaprobe, "--level", "2", *Places.options, "-o", str(report), "--json", str(record),
                   *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   text=True, start_new_session=True, env={**os.environ, **(environment or {})})
        try:
            out, err = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"tmaprobe did not end within {patience_s} s: {' '.join(command)}") from None
        return Ran(process.returncode, out, err, report.read_text() if report.exists() else "",
                   json.loads(record.read_text()) if record.exists() and record.stat().st_size else None)
