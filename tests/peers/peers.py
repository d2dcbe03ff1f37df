"""The peers of tmaprobe's kernels: how each is started, and how its figure is read.

A peer is a function of a case's own arguments that returns the figure of one run. Latencies are ns per
access, throughputs decimal bytes per second as the program sees them, so that figures of one case can
be divided. `which` finds programs of the distribution; the others are named by the user.
"""
import functools
import os
import resource
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
    # `timeout` ends the children of a program too; some measure in a child that outlives its parent.
    done = subprocess.run([*setup.prefix, "timeout", "-k", "2", str(seconds), "taskset", "-c", cpus, *words],
                          capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode in (124, 137):
        raise Missing(f"not done after {seconds} s")
    return done.stdout or done.stderr


def number(pattern, text, scale=1.0):
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        raise Missing(f"no figure in: {text.strip()[-200:]!r}")
    return float(found[-1]) * scale


def multichase(setup, size, pages):
    words = [setup.multichase, "-X", "-m", str(size), "-s", "64", "-T", str(size), "-n", "2"]
    return number(r"([0-9.]+)\s*$", start(words + (["-H"] if pages != "4k" else []), setup))


def chips_and_cheese_latency(setup, size, pages):
    words = [setup.chips_and_cheese_latency, "-test", "asm", "-sizekb", str(size >> 10)]
    return number(r"[0-9]+,([0-9.]+)", start(words + (["-hugepages"] if pages != "4k" else []), setup))


@functools.lru_cache(maxsize=1)
def lat_mem_rd_output(program, megabytes, cpu, _round):
    """All sizes up to the last, once in a round. Without the three variables it measures the clock's own cost first,
    which takes half a minute; and its memory is bounded, since other arguments have made it take all there is."""
    if not program or not shutil.which(program):
        raise Missing(program or "no path was given")
    words = ["timeout", "-k", "2", "300", "taskset", "-c", str(cpu), program, "-t", "-P", "1", "-W", "0", "-N", "1",
             str(megabytes), "64"]
    bound = 4 << 30
    done = subprocess.run(words, capture_output=True, text=True,
                          env={**os.environ, "ENOUGH": "20000", "TIMING_O": "0", "LOOP_O": "0"},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bound, bound)))
    return done.stderr


def lat_mem_rd(setup, size, pages):
    """A new page and a new line in it with each load (-t), so that TLB misses are as many as there can be; it takes
    what pages malloc gives it."""
    if pages != "4k":
        raise Missing("it cannot be asked for huge pages")
    text = lat_mem_rd_output(setup.lat_mem_rd, setup.lat_mem_rd_megabytes, setup.cpus[0], setup.round)
    for megabytes, nanoseconds in re.findall(r"^([0-9.]+)\s+([0-9.]+)$", text, re.MULTILINE):
        if abs(float(megabytes) * 2**20 / size - 1) < 0.01:
            return float(nanoseconds)
    raise Missing(f"no line for {size} bytes")


def likwid(setup, test, size):
    """likwid's kB is 1000 bytes, and its size that of all arrays together.

    It counts for a whole second if it is let, in which a busy machine takes the CPU away; so many iterations as
    make some 100 ms at 30 to 300 GB/s meet a quiet moment as often as tmaprobe's repetitions do.
    """
    rate = 200e9 if size <= 1 << 20 else 80e9 if size <= 1 << 24 else 15e9
    iterations = max(4, int(0.1 * rate / size))
    text = start(["likwid-bench", "-t", test, "-i", str(iterations), "-w", f"N:{max(1, size // 1000)}kB:1"], setup)
    return number(r"MByte/s:\s+([0-9.]+)", text, 1e6)


def stream(setup, line):
    """The best rate of STREAM, which counts bytes read and written."""
    return number(line + r":\s+([0-9.]+)", start([setup.stream], setup), 1e6)


def mbw(setup, size):
    """Bytes copied are counted once, in MiB; the program reads and writes them."""
    text = start(["mbw", "-q", "-n", "5", "-t0", str(max(1, size >> 21))], setup)
    return number(r"AVG.*Copy: ([0-9.]+) MiB", text, 2 * 2**20)


@functools.lru_cache(maxsize=1)
def tinymembench_output(program, cpu, _round):
    """It cannot be asked for one test: all of them run once in a round."""
    if not program or not shutil.which(program):
        raise Missing(program or "no path was given")
    words = ["timeout", "-k", "2", "900", "taskset", "-c", str(cpu), program]
    return subprocess.run(words, capture_output=True, text=True).stdout


def tinymembench(setup, line, factor):
    """The best rate of the named test; `factor` is 2 for copies, of which it counts the bytes once."""
    text = tinymembench_output(setup.tinymembench, setup.cpus[0], setup.round)
    return number(r"\n " + re.escape(line) + r"\s+:\s+([0-9.]+) MB/s", text, factor * 1e6)


def tinymembench_latency(setup, size, pages, first_level_ns):
    """The least time of a random byte, to which the latency of the L1 is added, since it subtracts that."""
    text = tinymembench_output(setup.tinymembench, setup.cpus[0], setup.round)
    part = text.partition("[MADV_NOHUGEPAGE]" if pages == "4k" else "[MADV_HUGEPAGE]")[2]
    return number(rf"^\s*{size} :\s+([0-9.]+) ns", part.partition("block size")[0], 1.0) + first_level_ns()


# The instruction sets that OpenSSL is held to, by what is taken away from what it finds.
OPENSSL_MASKS = {"shani": None, "avx2": ":~0x20000000", "ssse3": "~0x1000000000000000:~0x20000020",
                 "portable": "~0x1000020000000000:~0x20000020", "armv8": None}


def openssl(setup, variant):
    mask = OPENSSL_MASKS[variant]
    text = start(["openssl", "speed", "-elapsed", "-seconds", "1", "-bytes", "16384", "-evp", "sha256"], setup,
                 **({"OPENSSL_ia32cap": mask} if mask else {}))
    return number(r"sha256\s+([0-9.]+)k", text, 1e3)


@functools.lru_cache(maxsize=1)
def cryptest_output(cpu):
    """All of its hash functions, since it cannot be asked for one; once."""
    if not shutil.which("cryptest"):
        raise Missing("cryptest")
    return subprocess.run(["taskset", "-c", str(cpu), "cryptest", "b1", "0.3"], capture_output=True, text=True,
                          timeout=600).stdout


def cryptest(setup):
    """Crypto++'s SHA-256 with the best instructions it finds; it prints a table in HTML, in MiB/s."""
    rows = re.findall(r">SHA-256[^\n]*?<TD>([0-9.]+)", cryptest_output(setup.cpus[0]))
    if not rows:
        raise Missing("no figure of SHA-256 in what cryptest prints")
    return float(rows[-1]) * 2**20


def core_to_core_latency(setup, benchmark):
    """Benchmark 1 is compare-and-swap, 2 reads and writes one line each way."""
    cpus = ",".join(map(str, setup.cpus[:2]))
    text = start([setup.core_to_core_latency, "1000", "50", "--cores", cpus, "--bench", str(benchmark), "--csv"],
                 setup)
    return number(r"(?:^|,|\n)([0-9.]+),?\s*$", text)


def multichase_pingpong(setup, protocol):
    flag = {"cas": "-l", "load": "-u"}[protocol]
    return number(r"\n\s*0:\s+([0-9.]+)", start([setup.multichase_pingpong, flag], setup))
