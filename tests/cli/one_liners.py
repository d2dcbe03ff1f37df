#!/usr/bin/env python3
"""Runs a table of one-line commands and checks exit status, stdout and stderr.

    one_liners.py TMAPROBE TABLE

A table holds blocks like this, one command each, run by a shell in an empty folder of its own:

    $ tmaprobe --kernel nonesuch
    status 2
    stderr no kernel is called 'nonesuch'
    stdout-empty

`stdout`, `stderr`: a regular expression that must be found (may be repeated); `no-stdout`, `no-stderr`:
one that must not; `stdout-empty`: nothing may stand there; `needs COMMAND`: the case is skipped, and says
so, where that command fails. $TREE is the source tree; $CPU and $OTHER_CPU are CPUs that the test may run on
(the same one where there is only one), since CPU 0 may belong to others. $TARGET is a CPU of this architecture that
the model covers, whatever this machine's is.
"""

import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).parents[2]
SECONDS = 300  # of one command; far more than any takes on a busy machine


def cases(table):
    case = None
    for number, line in enumerate(pathlib.Path(table).read_text().splitlines(), 1):
        if line.startswith("$ "):
            if case:
                yield case
            case = {"line": number, "command": line[2:], "checks": []}
        elif case and line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            case["checks"].append((word, rest))
    if case:
        yield case


def run(command, tmaprobe, folder):
    cpus = sorted(os.sched_getaffinity(0))
    environment = dict(os.environ, PATH=f"{pathlib.Path(tmaprobe).resolve().parent}:{os.environ.get('PATH', os.defpath)}",
                       TREE=str(TREE), CPU=str(cpus[0]), OTHER_CPU=str(cpus[-1]), NO_COLOR="1", LC_ALL="C.UTF-8",
                       TARGET="neoverse-n1" if platform.machine() == "aarch64" else "amdzen4")
    # `timeout` ends the command's children too, which would hold its output open.
    return subprocess.run(["timeout", "-k", "5", str(SECONDS), "bash", "-c", command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def problems(case, result):
    status_checked = False
    for word, rest in case["checks"]:
        if word == "status":
            status_checked = True
            if result.returncode != int(rest):
                yield f"status {result.returncode}, wanted {rest}"
        elif word in ("stdout", "stderr"):
            if not re.search(rest, getattr(result, word), re.M):
                yield f"{word} lacks /{rest}/"
        elif word in ("no-stdout", "no-stderr"):
            if re.search(rest, getattr(result, word[3:]), re.M):
                yield f"{word[3:]} has /{rest}/"
        elif word == "stdout-empty":
            if result.stdout:
                yield "stdout is not empty"
        elif word != "needs":
            yield f"unknown check '{word}'"
    if not status_checked:
        yield "the case does not say which status it wants"
    if re.search(r"Sanitizer|terminate called|Segmentation", result.stderr):
        yield "it crashed"


def main(tmaprobe, table):
    failed = skipped = count = 0
    for case in cases(table):
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            missing = [rest for word, rest in case["checks"]
                       if word == "needs" and run(rest, tmaprobe, folder).returncode != 0]
            if missing:
                skipped += 1
                print(f"skipped: line {case['line']}: {case['command']}  (needs {missing[0]})")
                continue
            result = run(case["command"], tmaprobe, folder)
        found = list(problems(case, result))
        if found:
            failed += 1
            print(f"FAILED {table}:{case['line']}: {case['command']}\n  " + "\n  ".join(found))
            print("  stdout: " + result.stdout[:600].replace("\n", "\n          "))
            print("  stderr: " + result.stderr[:600].replace("\n", "\n          "))
    print(f"{count - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
