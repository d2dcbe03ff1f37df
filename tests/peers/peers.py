"""The peers of tmaprobe's kernels: how each is started, and how its figure is read.

A peer is a function of a case's own arguments that returns the figure of one run. Latencies are ns per
access, throughputs decimal bytes per second as the program sees them, so that figures of one case can
be divided. `which` finds programs of the distribution; the others are named by the user.
"""
import functools
import os
import re
import shutil
import subprocess


class Missing(Exception):
    """The peer is not on this machine."""


def start(words, setup, seconds=60, **environment):
    """Runs a program bound to the first CPU of the set-up; what it prints. Errors: Missing."""
    if not words[0] or not shutil.which(words[0]):
        raise Missing(words[0] or "no path was given")
    cpus = ",".join(map(str, setup.cpus[:setup.threads]))
    done = subprocess.run([*setup.prefix, "taskset", "-c", cpus, *words], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=seconds)
    return done.stdout or done.stderr


def number(pattern, text, scale=1.0):
    found = re.findall(pattern, text)
    if not found:
        raise Missing(f"no figure in: {text.strip()[-200:]!r}")
    return float(found[-1]) * scale


def multichase(setup, size, pages):
    words = [setup.multichase, "-X", "-m", str(size), "-s", "64", "-T", str(size), "-n", "2"]
    return number(r"([0-9.]+)\s*$", start(words + (["-H"] if pages != "4k" else []), setup))


def chips_and_cheese_latency(setup, size, pages):
    words = [setup.chips_and_cheese_latency, "-test", "asm", "-sizekb", str(size >> 10)]
    return number(r"[0-9]+,([0-9.]+)", start(words + (["-hugepages"] if pages != "4k" else []), setup))


def likwid(setup, test, size):
    """likwid's kB is 1000 bytes, and its size that of all arrays together."""
    text = start(["likwid-bench", "-t", test, "-w", f"N:{max(1, size // 1000)}kB:1"], setup)
    return number(r"MByte/s:\s+([0-9.]+)", text, 1e6)


def stream(setup, line):
    """The best rate of STREAM, which counts bytes read and written."""
    return number(line + r":\s+([0-9.]+)", start([setup.stream], setup), 1e6)


def mbw(setup, size):
    """Bytes copied are counted once, in MiB; the program reads and writes them."""
    text = start(["mbw", "-q", "-n", "5", "-t0", str(max(1, size >> 21))], setup)
    return number(r"AVG.*Copy: ([0-9.]+) MiB", text, 2 * 2**20)


@functools.lru_cache(maxsize=1)
def tinymembench_output(program, cpu):
    """It cannot be asked for one test, and all of them take minutes: it runs once."""
    words = ["taskset", "-c", str(cpu), program]
    if not program:
        raise Missing("no path was given")
    return subprocess.run(words, capture_output=True, text=True, timeout=600).stdout


def tinymembench(setup, line, factor):
    """The best rate of the named test; `factor` is 2 for copies, of which it counts the bytes once."""
    text = tinymembench_output(setup.tinymembench, setup.cpus[0])
    return number(r"\n " + line + r"\s+:\s+([0-9.]+) MB/s", text, factor * 1e6)


# The instruction sets that OpenSSL is held to, by what is taken away from what it finds.
OPENSSL_MASKS = {"shani": None, "avx2": ":~0x20000000", "ssse3": "~0x1000000000000000:~0x20000020",
                 "portable": "~0x1000020000000000:~0x20000020", "armv8": None}


def openssl(setup, variant):
    mask = OPENSSL_MASKS[variant]
    text = start(["openssl", "speed", "-elapsed", "-seconds", "1", "-bytes", "16384", "-evp", "sha256"], setup,
                 **({"OPENSSL_ia32cap": mask} if mask else {}))
    return number(r"sha256\s+([0-9.]+)k", text, 1e3)


def core_to_core_latency(setup, benchmark):
    """Benchmark 1 is compare-and-swap, 2 reads and writes one line each way."""
    cpus = ",".join(map(str, setup.cpus[:2]))
    text = start([setup.core_to_core_latency, "1000", "50", "--cores", cpus, "--bench", str(benchmark), "--csv"],
                 setup)
    return number(r"(?:^|,|\n)([0-9.]+),?\s*$", text)


def multichase_pingpong(setup, protocol):
    flag = {"cas": "-l", "load": "-u"}[protocol]
    return number(r"\n\s*0:\s+([0-9.]+)", start([setup.multichase_pingpong, flag], setup))
