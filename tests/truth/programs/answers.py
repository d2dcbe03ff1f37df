#!/usr/bin/env python3
"""How far several answers of one command are apart, and what the clock says of them.

    answers.py TMAPROBE [--runs 5] [--only sort,gzip,...] [--repeatable] [--state FOLDER]

Runs each program so often and prints, in points of slots, the largest spread of a level-1 value, how many of these values lie
in the bounds of the other answers ("within"), and the ratio of modelled
to measured time that tmaprobe itself found, with its verdict. With --repeatable it says whether all answers are equal
bit for bit.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import programs as truth

QUICK = "gzip,sort,python_json,cc1,own_quicksort,own_mandelbrot"


def answer(options, command):
    path = f"{options.state}/answer.json"
    if os.path.exists(path):
        os.remove(path)
    arguments = [os.path.abspath(options.tmaprobe), "--source", options.source, "--level", "2", "--json", path, "-o", "/dev/null"]
    start = time.monotonic()
    ran = subprocess.run(arguments + (["--repeatable"] if options.repeatable else []) + options.extra.split() + ["--"] + command,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - start
    if not os.path.exists(path):
        raise SystemExit(f"{command[0]}: {ran.stderr}")
    with open(path, encoding="utf-8") as file:
        run = json.load(file)["runs"][0]
    model = (run.get("extra") or {}).get("model") or {}
    metrics = {m["name"]: (m["value"], m.get("low"), m.get("high")) for m in run["metrics"] if m.get("value") is not None}
    level1 = {m["name"]: 100 * m["value"] for m in run["metrics"] if m.get("level") == 1 and m.get("value") is not None}
    bounds = {m["name"]: (100 * m["low"], 100 * m["high"]) for m in run["metrics"] if m.get("level") == 1 and m.get("low") is not None}
    return {"level1": level1, "bounds": bounds, "all": json.dumps([metrics, model.get("facts")], sort_keys=True), "windows": model.get("windows", 0), "took": took,
            "clock": model.get("clock_check") or {}}


def within_each_other(answers):
    """Share of the pairs of answers, and of level-1 values, that lie in the other's bounds."""
    pairs = [(one, other, key) for one in answers for other in answers if one is not other for key in one["level1"] if key in other["bounds"]]
    held = [other["bounds"][key][0] - 0.05 <= one["level1"][key] <= other["bounds"][key][1] + 0.05 for one, other, key in pairs]
    return 100 * sum(held) / max(1, len(held))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tmaprobe")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=QUICK)
    parser.add_argument("--repeatable", action="store_true")
    parser.add_argument("--source", default="model")
    parser.add_argument("--extra", default="", help="further options for tmaprobe")
    parser.add_argument("--state", default=os.path.join(tempfile.gettempdir(), "tmaprobe-programs"))
    options = parser.parse_args()
    os.makedirs(options.state, exist_ok=True)
    with open(os.path.join(truth.HERE, "programs.json"), encoding="utf-8") as file:
        known = json.load(file)
    wanted = options.only.split(",")
    known["own"] = [name for name in known["own"] if name in wanted or f"own_{name}" in wanted]
    truth.make_inputs(f"{options.state}/data", known)
    listed = {name: command for name, command in truth.commands(f"{options.state}/data", known).items() if name in wanted or f"own_{name}" in wanted}
    print(f"{'program':<16}{'level 1':>9} {'of':<26}{'within':>7}{'windows':>8}{'clock':>7} {'(all)':<32}{'verdicts':<24}{'s':>6}")
    for name, command in listed.items():
        answers = [answer(options, command) for _ in range(options.runs)]
        spreads = {key: max(a["level1"].get(key, 0) for a in answers) - min(a["level1"].get(key, 0) for a in answers) for key in answers[0]["level1"]}
        largest = max(spreads, key=spreads.get, default="-")
        ratios = [a["clock"].get("ratio", 0) for a in answers]
        verdicts = sorted({a["clock"].get("verdict", "none") for a in answers})
        equal = "" if not options.repeatable else "  equal" if len({a["all"] for a in answers}) == 1 else "  DIFFERENT"
        print(f"{name:<16}{spreads.get(largest, 0):>9.1f} {largest:<26}{within_each_other(answers):>6.0f}%{statistics.median(a['windows'] for a in answers):>8.0f}{statistics.median(ratios):>7.2f} "
              f"{' '.join(f'{r:.2f}' for r in ratios):<32}{','.join(verdicts):<24}{statistics.median(a['took'] for a in answers):>6.1f}{equal}", flush=True)


if __name__ == "__main__":
    main()
