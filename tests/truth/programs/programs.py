#!/usr/bin/env python3
"""Holds modelled programs against the clock.

Usage: programs.py BUILD [--target T] [--runs N] [--only NAME,...] [--set tuned|held_out|both]
                   [--step make,count,time,model,table] [--beside] [--least] [--quiet COMMAND] [--half-a-buffer] [--state FOLDER] [--label NAME]

BUILD is a build folder with tmaprobe and tmaprobe_run_program. Steps, all by default: `make` compiles the programs and makes
their inputs, `count` counts instructions (each program once), `time` times each between canaries, `model` asks tmaprobe N times,
`table` prints. What the steps find is kept in FOLDER. A third of the programs, by hash of the name, is held out: nothing is tuned
on it. --beside times each once more before and after each answer, and these times are the measured ones: what others use of a shared
cache, and with it the time of a program that needs it, is another from one minute to the next. --quiet is put before what is timed (a command that stops other work on this machine).

Measured cycles an instruction: processor time in user mode, lower quartile of the undisturbed runs, times the core clock beside it, over
the instructions that were counted (measured_cpi says why).
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CC1 = ["/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "/usr/libexec/gcc/x86_64-linux-gnu/14/cc1"]


def held_out(name):
    return hashlib.sha256(b"held out " + name.encode()).digest()[0] % 3 == 0


class Random:
    """The same everywhere: as next_random() of own/common.h."""

    def __init__(self):
        self.state = 1

    def below(self, limit):
        state, mask = self.state, (1 << 64) - 1
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        self.state = state
        return state % limit


def words(random, count):
    endings = ["", "", "", "ing", "ed", "s", "ly"]
    known = ["".join("abcdefghijklmnoprstuvw"[random.below(22)] for _ in range(2 + random.below(7))) + endings[random.below(7)] for _ in range(3000)]
    lines = []
    while count > 0:
        line = [known[min(random.below(3000), random.below(3000))] for _ in range(5 + random.below(9))]
        count -= len(line)
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n"


def write(path, text):
    if not os.path.exists(path):
        with open(path + ".new", "wb" if isinstance(text(), bytes) else "w") as file:
            file.write(text())
        os.rename(path + ".new", path)


C_SOURCE_START = "struct list { struct list *next; int key; double weight; };"
C_SOURCE = """
int find_{n}(struct list *at, int key, int most) {{ int i; for (i = 0; at && i < most; ++i, at = at->next) {{ if (at->key == key + {n}) return i; if (at->key > key * {n}) most -= i; }} return -1; }}
double sum_{n}(struct list *at, double *out, int n) {{ double s = 0; int i; for (i = 0; i < n; ++i) {{ s += out[i] * at->weight; out[i] = s > {n} ? s / 3 : s * 2; switch ((i + {n}) % 5) {{ case 0: s -= 1; break; case 1: s += at->key; break; case 2: out[i] += find_{n}(at, i, n); break; case 3: s = -s; }} }} return s; }}
"""


def make_inputs(data, programs):
    os.makedirs(data, exist_ok=True)
    random = Random()
    text = words(random, 1000000)
    write(f"{data}/text", lambda: text)
    write(f"{data}/large", lambda: text * 8)
    write(f"{data}/huge", lambda: text * 56)
    write(f"{data}/lines", lambda: "\n".join(f"{random.below(10**9)} {w}" for w in text.split()[:230000]) + "\n")
    write(f"{data}/json", lambda: json.dumps([{"id": i % 97, "name": w, "tags": [w[:3], w[-2:]], "score": i / 7} for i, w in enumerate(text.split()[:90000])]))
    write(f"{data}/bc", lambda: "scale=700\n4*a(1)\ne(1.5)\nquit\n")
    write(f"{data}/c.i", lambda: C_SOURCE_START + "".join(C_SOURCE.format(n=n) for n in range(2, 60)))
    if not os.path.exists(f"{data}/large.gz"):
        with open(f"{data}/large.gz", "wb") as file:
            subprocess.run(["gzip", "-6", "-c", f"{data}/large"], stdout=file, check=True)
    if not os.path.exists(f"{data}/program"):
        subprocess.run(["cp", "/usr/bin/openssl" if os.path.exists("/usr/bin/openssl") else "/usr/bin/git", f"{data}/program"], check=True)
    for name in programs["own"]:
        subprocess.run(["g++", "-O2", "-std=c++20", "-w", f"{HERE}/own/{name}.cpp", "-o", f"{data}/own_{name}"], check=True)


def commands(data, programs):
    cc1 = next((path for path in CC1 if os.path.exists(path)), "")
    made = {name: [f"{data}/own_{name}"] for name in programs["own"]}
    for name, command in programs["installed"].items():
        made[name] = [word.replace("{data}", data).replace("{cc1}", cc1) if "{data}" in word or "{cc1}" in word else word for word in command]
    return {name: command for name, command in sorted(made.items()) if os.path.exists(command[0])}


def fingerprint(command):
    what = hashlib.sha256("\0".join(command).encode())
    with open(command[0], "rb") as file:
        what.update(file.read())
    for word in command[1:]:
        if word.startswith("/") and os.path.isfile(word):
            what.update(str(os.path.getsize(word)).encode())
    return what.hexdigest()[:16]


def undisturbed(run, options):
    """Where a run always has half of the reorder buffer, that says nothing of others."""
    whole = run["overlap"] < 1.4 or options.half_a_buffer
    return run["ipc"] > 3.2 and whole and run["waited"] < 0.5


def time_one(options, command):
    """Four runs, each between canaries."""
    printed = subprocess.run(options.quiet.split() + [f"{options.build}/tests/truth/tmaprobe_run_program", "time", "4"] + command,
                             capture_output=True, text=True, check=True).stdout
    runs = []
    for line in printed.splitlines():
        user, system, clock, ipc, overlap, waited = map(float, line.split())
        runs.append({"user_ns": user, "system_ns": system, "clock_hz": clock, "ipc": ipc, "overlap": overlap, "waited": waited})
    return runs


def measured_cpi(state, options):
    """Lower quartile of the undisturbed runs, and by how much the upper one is above it: nothing where none was undisturbed.

    Not the fastest: the kernel shares a run's processor time out between program and kernel by its ticks, 4 ms apart, so that
    of a short program the fastest is the one with the most ticks in the kernel (base64: 29 of 54 ms, 45 in the mean). So all
    time counts, less what the kernel has in the median: in the mean a run that read its files from the disk would count
    for all others. And where the address space lies differs from run to run: one of `interpreter`'s in eight takes 0.21 s,
    all others 0.56 s.
    """
    timed = state.get("beside", {}).get(options.label, []) if options.beside else state.get("timed", [])
    if options.least:
        timed = state.get("timed", []) + [run for runs in state.get("beside", {}).values() for run in runs]
    runs = timed if options.least else [run for run in timed if undisturbed(run, options)]
    if not state.get("instructions") or not runs:
        return None, 0
    kernel = statistics.median(run["system_ns"] * run["clock_hz"] for run in runs)
    cycles = [(run["user_ns"] + run["system_ns"]) * run["clock_hz"] - kernel for run in runs]
    if options.least:
        cycles.sort()
        agreed = next((least for least, following in zip(cycles, cycles[1:]) if following < 1.02 * least), cycles[0])
        return agreed * 1e-9 / state["instructions"], statistics.quantiles(cycles, n=4)[2] / agreed - 1 if len(cycles) > 1 else 0
    lower, _, upper = statistics.quantiles(cycles, n=4, method="inclusive") if len(cycles) > 1 else cycles * 3
    return lower * 1e-9 / state["instructions"], upper / lower - 1


LEVEL1 = ("frontend_bound", "bad_speculation", "backend_bound", "retiring")


def model_one(options, command):
    path = f"{options.state}/record.json"
    arguments = [options.tool or f"{options.build}/tmaprobe", "--source", "model", "--level", "2", "--json", path, "-o", "/dev/null"]
    if options.target:
        arguments += ["--target", options.target]
    ran = subprocess.run(arguments + options.extra.split() + ["--"] + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)["runs"][0]
        os.remove(path)
    except OSError:
        return {"error": ran.stderr[-300:]}
    model = run.get("extra", {}).get("model") or run.get("model") or {}
    out = {"windows": model.get("windows"), "each": model.get("each_window"), "ended": (model.get("sampling") or {}).get("ended_early"), "facts": model.get("facts")}
    for key in ("modelled_ns", "measured_ns"):
        out[key] = model.get(key)
    cpi = model.get("cpi") or {}
    if isinstance(cpi, dict) and cpi.get("value"):
        out.update(cpi=cpi["value"], low=cpi.get("low"), high=cpi.get("high"))
    elif model.get("counted_instructions"):
        out["cpi"] = model["cycles"] / model["counted_instructions"]
        each = [v["cycles"] / v["instructions"] for v in model.get("variations", []) if v.get("instructions")] + [out["cpi"]]
        out.update(low=min(each), high=max(each))
    out["level1"] = {m["name"]: 100 * m["value"] for m in run.get("metrics", []) if m.get("level") == 1 and m.get("value") is not None}
    return out


def row(name, state, options):
    measured, spread = measured_cpi(state, options)
    answers = [m for m in state.get("modelled", {}).get(options.label, []) if m.get("cpi")]
    if not measured or not answers:
        return None
    values = sorted(m["cpi"] for m in answers)
    middle = min(answers, key=lambda m: abs(m["cpi"] - statistics.median(values)))
    level1 = max((max(m["level1"].get(k, 0) for m in answers) - min(m["level1"].get(k, 0) for m in answers) for k in middle["level1"]), default=0)
    return {"name": name, "measured": measured, "noise": spread, "modelled": middle["cpi"], "ratio": middle["cpi"] / measured, "low": middle["low"], "high": middle["high"],
            "holds": middle["low"] <= measured * 1.02 and middle["high"] >= measured * 0.98, "width": (middle["high"] - middle["low"]) / middle["cpi"],
            "spread": (values[-1] - values[0]) / middle["cpi"], "level1": level1, "windows": middle.get("windows"), "runs": len(answers),
            "time": middle["modelled_ns"] / middle["measured_ns"] if middle.get("modelled_ns") and middle.get("measured_ns") else None}


def table(states, programs, options):
    print(f"{'program':<16}{'measured':>9}{'modelled':>9}{'ratio':>7}{'low':>7}{'high':>7} {'holds':<5}{'windows':>8}{'CPI':>7}{'level 1':>9}{'clock':>7}")
    print(f"{'':<16}{'CPI':>9}{'CPI':>9}{'':>7}{'':>7}{'':>7} {'':<5}{'':>8}{'spread':>7}{'points':>9}{'noise':>7}")
    rows = [r for r in (row(name, states[name], options) for name in sorted(states)) if r]
    parts = {"tuned": [r for r in rows if not held_out(r["name"])], "held out": [r for r in rows if held_out(r["name"])]}
    for part, listed in parts.items():
        if options.set != "both" and options.set != part.replace(" ", "_"):
            continue
        print(f"{part}:")
        for r in listed:
            print(f"  {r['name']:<14}{r['measured']:>9.3f}{r['modelled']:>9.3f}{r['ratio']:>7.2f}{r['low']:>7.2f}{r['high']:>7.2f} {'yes' if r['holds'] else 'no':<5}{r['windows'] or 0:>8}"
                  f"{100 * r['spread']:>6.0f}%{r['level1']:>9.1f}{100 * r['noise']:>6.0f}%")
    for part, listed in list(parts.items()) + [("all", rows), ("all but memory-bound", [r for r in rows if r["name"] not in programs["memory_bound"]])]:
        if not listed or (options.set == "tuned" and part != "tuned"):
            continue
        errors = [abs(r["ratio"] - 1) for r in listed]
        factors = [max(r["ratio"], 1 / r["ratio"]) for r in listed]
        print(f"{part}: {len(listed)} programs, mean error {100 * statistics.mean(errors):.1f}%, median {100 * statistics.median(errors):.1f}%, worst {100 * max(errors):.0f}% "
              f"({max(listed, key=lambda r: abs(r['ratio'] - 1))['name']}), mean factor {statistics.mean(factors):.2f}; bounds hold {sum(r['holds'] for r in listed)} of {len(listed)}, "
              f"median width {100 * statistics.median(r['width'] for r in listed):.0f}%; spread over {listed[0]['runs']} runs: CPI median {100 * statistics.median(r['spread'] for r in listed):.0f}%, "
              f"level 1 median {statistics.median(r['level1'] for r in listed):.1f}, worst {max(r['level1'] for r in listed):.1f} points")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--target", default="")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", default="both", choices=["tuned", "held_out", "both"])
    parser.add_argument("--step", default="make,count,time,model,table")
    parser.add_argument("--beside", action="store_true", help="time each program beside its answers")
    parser.add_argument("--least", action="store_true", help="measured is the least time that two runs agree on within 2%%, of all that were ever timed: where neighbours are at work most of the time")
    parser.add_argument("--quiet", default="")
    parser.add_argument("--tool", default="", help="another tmaprobe than that of the build")
    parser.add_argument("--extra", default="", help="further options for tmaprobe")
    parser.add_argument("--half-a-buffer", action="store_true", help="this machine always has half of the reorder buffer (overlap is 2 in every run): other canaries decide")
    parser.add_argument("--state", default="")
    parser.add_argument("--label", default="now", help="under which what is modelled is kept")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.state = options.state or f"{options.build}/truth_programs"
    data = f"{options.state}/data"
    with open(f"{HERE}/programs.json", encoding="utf-8") as file:
        programs = json.load(file)
    steps = options.step.split(",")
    os.makedirs(options.state, exist_ok=True)
    if "make" in steps:
        make_inputs(data, programs)
    kept = f"{options.state}/found.json"
    states = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            states = json.load(file)

    def keep():
        with open(kept + ".new", "w", encoding="utf-8") as file:
            json.dump(states, file)
        os.rename(kept + ".new", kept)

    all_commands = commands(data, programs)
    chosen = {n: c for n, c in all_commands.items()
              if (not options.only or n in options.only.split(",")) and (options.set == "both" or held_out(n) == (options.set == "held_out"))}
    for name, command in chosen.items():
        mark = fingerprint(command)
        if states.get(name, {}).get("mark") != mark:
            states[name] = {"mark": mark}
    if "count" in steps:
        for name, command in chosen.items():
            if not states[name].get("instructions"):
                done = subprocess.run([f"{options.build}/tests/truth/tmaprobe_run_program", "count"] + command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}: not counted: {done.stderr.strip()}", file=sys.stderr)
                    continue
                states[name]["instructions"] = int(done.stdout)
                keep()
    if "time" in steps:
        for name, command in chosen.items():
            for _ in range(2):
                timed = time_one(options, command)
                states[name].setdefault("timed", []).extend(timed)
                if sum(undisturbed(run, options) for run in timed) >= 2:
                    break
            keep()
    if "model" in steps:
        for name, command in chosen.items():
            timed, answers = [], []
            for _ in range(options.runs):
                if options.beside:
                    timed += time_one(options, command)
                answers.append(model_one(options, command))
            if options.beside:
                states[name].setdefault("beside", {})[options.label] = timed + time_one(options, command)
            states[name].setdefault("modelled", {})[options.label] = answers
            keep()
    if "table" in steps:
        table({name: states[name] for name in chosen}, programs, options)


if __name__ == "__main__":
    main()
