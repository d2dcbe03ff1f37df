#!/usr/bin/env python3
"""What the README's build costs, in this tree and in another commit: both from nothing, without ccache, at the same
time on the same CPUs, one job each. Prints the processor time of each, the ratio, and the longest rebuild after a
change of one source file of this tree.

    tests/benchmarks/build_time.py COMMIT [--files N]

COMMIT must build with third_party/setup.sh as it is now. The figures of a busy machine are larger; the ratio is not.
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check_out(commit, folder):
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], check=True, stdout=subprocess.PIPE).stdout
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    for installed in ("libperf", "pmu-events"):
        if (ROOT / "third_party" / installed).exists():
            shutil.copytree(ROOT / "third_party" / installed, folder / "third_party" / installed, dirs_exist_ok=True,
                            symlinks=True)


def processor_seconds(command, folder):
    """Runs it and returns the processor time of all that it started."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**os.environ, "CCACHE_DISABLE": "1"})
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        print(f"build_time: {' '.join(command)} failed in {folder}:\n{output.decode()[-3000:]}", flush=True)
        raise SystemExit(1)
    return used.ru_utime + used.ru_stime


def configure(folder):
    # A tree that finds ccache builds differently, even where it is switched off.
    return processor_seconds(["cmake", "--preset", "release", "-DCCACHE=OFF"], folder)


def build(folder, jobs):
    return processor_seconds(["cmake", "--build", "build/release", "-j", str(jobs)], folder)


def whole_build(name, folder, found):
    configured = configure(folder)
    found[name] = configured + build(folder, 1)
    print(f"{name}: {found[name]:.0f} s of processor time, {configured:.0f} s of it configuring", flush=True)


def after_one_change(folder, count):
    """Touches one source file after the other and returns the wall times of the rebuilds, by file."""
    sources = sorted(folder.glob("src/**/*.cpp")) + sorted(folder.glob("kernels/**/*.cpp"))
    chosen = sources if count is None else random.Random(1).sample(sources, min(count, len(sources)))
    times = {}
    build(folder, 2)
    for source in chosen:
        os.utime(source)
        start = time.monotonic()
        build(folder, 2)
        times[str(source.relative_to(folder))] = time.monotonic() - start
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--files", type=int, help="change so many source files, chosen at random; default: every one")
    parser.add_argument("--only-changes", action="store_true", help="do not build the other commit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tmaprobe_build_time.") as temporary:
        trees = {"HEAD": pathlib.Path(temporary, "after")}
        if not arguments.only_changes:
            trees[arguments.commit] = pathlib.Path(temporary, "before")
        found = {}
        for commit, folder in trees.items():
            check_out(commit, folder)
        builds = [threading.Thread(target=whole_build, args=(*tree, found)) for tree in trees.items()]
        for one in builds:
            one.start()
        for one in builds:
            one.join()
        if len(found) < len(trees):  # the exit of a thread is its own
            raise SystemExit(1)
        if arguments.commit in found:
            print(f"HEAD / {arguments.commit}: {found['HEAD'] / found[arguments.commit]:.3f}")
        times = after_one_change(trees["HEAD"], arguments.files)
        slowest = sorted(times.items(), key=lambda one: -one[1])[:5]
        print(f"one file changed: {len(times)} rebuilds, median {sorted(times.values())[len(times) // 2]:.1f} s; slowest:")
        for source, seconds in slowest:
            print(f"  {seconds:6.1f} s  {source}")


if __name__ == "__main__":
    main()
