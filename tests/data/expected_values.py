#!/usr/bin/env python3
"""Writes what every metric of every CPU must evaluate to on invented counts.

    expected_values.py --out DIR [--cpu FOLDER] [--arch-tree TREE]

of the tables in `events/`, or of a kernel's `pmu-events/arch` tree as it is.

One file per folder, `DIR/<folder>.jsonl`; a line per PMU, SMT state, system-wide state and seed:

    {"folder", "unit", "cpu_id", "seed", "without_perf_metrics" (true: the formulas that do without),
     "constants": {"#smt_on": 0, ...},
     "counts": {"<event as the expression writes it, escapes kept>": number, ...},
     "configs": {"<the same>": [config, config1] of perf_event_attr, for the events of a core PMU},
     "metrics": {"<name>": number, or null where it is rightly unavailable},
     "thresholds": {"<name>": true | false | null}}

Seed 0 is the all-zero case. The values come from metric_language.py, not from the C++ engine.
"""
import argparse
import itertools
import json
from pathlib import Path

import metric_language as language
import tables
import upstream

SEEDS = range(4)


def cpu_ids(folder):
    """Ids to evaluate under: more than one only where formulas ask for the id."""
    rows = [row["cpu"] for row in tables.read("cpus.json") if row["folder"] == folder and "cpu" in row]
    if folder == "neoverse-n2-v2":
        rows.append("0x00000000410fd493")  # N2 r0p3, from which a formula differs
    return rows or [""]


def cases(cpu):
    for cpu_id, smt, core_wide, seed in itertools.product(cpu_ids(cpu.folder), (0, 1), (0, 1), SEEDS):
        values = tables.constants(cpu.folder, smt, core_wide, cpu_id, pmem=seed % 2)
        engine = tables.evaluator(cpu, tables.invented(cpu, seed), values, cpu_id)
        counts = {}
        for name, metric in cpu.metrics.items():
            for written in language.names(language.parse(metric["MetricExpr"])):
                if language.unescape(written) not in cpu.metrics:
                    counts[written] = tables.invented(cpu, seed)(written)
        thresholds = {}
        for name, metric in cpu.metrics.items():
            if "MetricThreshold" in metric:
                value = engine.value(language.parse(metric["MetricThreshold"]))
                thresholds[name] = None if value is None else value != 0
        yield {"folder": cpu.folder, "unit": cpu.unit or "", "cpu_id": cpu_id, "seed": seed,
               "without_perf_metrics": cpu.perf_metrics_hidden,
               "constants": values, "counts": counts,
               "configs": {name: cpu.config(name) for name in counts if cpu.config(name)},
               "metrics": {name: engine.metric(name) for name in cpu.metrics}, "thresholds": thresholds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu", help="only this folder")
    parser.add_argument("--arch-tree", type=Path, help="a kernel's pmu-events/arch folder")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for folder in upstream.folders(options.arch_tree) if options.arch_tree else tables.folders():
        if options.cpu not in (None, folder):
            continue
        if options.arch_tree:
            found = upstream.cases(options.arch_tree, folder, SEEDS)
        else:
            cpus = [cpu for cpu in tables.cpus() if cpu.folder == folder]
            cpus += [other for other in (cpu.without_perf_metrics() for cpu in cpus) if other]
            found = (case for cpu in cpus for case in cases(cpu))
        (options.out / f"{folder}.jsonl").write_text("".join(json.dumps(case) + "\n" for case in found))


if __name__ == "__main__":
    main()
