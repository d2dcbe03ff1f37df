"""A kernel's own `pmu-events/arch` tree, as it is: its metrics, with counts by spelling alone."""
import csv
import json
from pathlib import Path

import metric_language as language
import tables


def folders(tree):
    """Name (the last part of upstream's path) to (folder, CPU id), of every row of every mapfile."""
    found = {}
    for mapfile in sorted(Path(tree).glob("*/mapfile.csv")):
        for row in csv.reader(mapfile.read_text().splitlines()):
            if len(row) >= 4 and not row[0].startswith("#") and row[0] != "Family-model":
                folder = mapfile.parent / row[2]
                if folder.is_dir():
                    found.setdefault(folder.name, (folder, row[0]))
    return found


def standard_metrics(arch):
    return {entry["MetricName"].lower(): entry for path in sorted(arch.glob("*.json"))
            for entry in json.loads(path.read_text()) if "MetricName" in entry}


def metrics_by_unit(tree, folder):
    """Unit ("" where there is none) to the first metric of each name."""
    arch = Path(tree) / folder.relative_to(tree).parts[0]
    standard = standard_metrics(arch)
    units = {}
    for path in sorted(folder.glob("*.json")):
        entries = json.loads(path.read_text())
        for entry in entries if isinstance(entries, list) else []:
            entry = {**standard.get(entry.get("ArchStdEvent", "").lower(), {}), **entry}
            if "MetricExpr" in entry and "MetricName" in entry:
                units.setdefault(entry.get("Unit", ""), {}).setdefault(entry["MetricName"], entry)
    return units


def cases(tree, name, seeds):
    """One case per core PMU, SMT state, system-wide state and seed; see expected_values.py."""
    folder, cpu_id = folders(tree)[name]
    cpu_id = cpu_id if cpu_id.startswith("0x") else ""
    units = {unit: found for unit, found in metrics_by_unit(tree, folder).items() if unit in ("", "cpu_core", "cpu_atom")}
    common = {n: m["MetricExpr"] for n, m in units.get("", {}).items()}
    for unit, entries in units.items():
        expressions = common | {n: m["MetricExpr"] for n, m in entries.items()}
        for smt, core_wide, seed in ((0, 0, 0), (0, 0, 1), (1, 0, 2), (1, 1, 3)):
            if seed not in seeds:
                continue
            constants = tables.constants(name, smt, core_wide, pmem=seed % 2)
            counts = {}

            def count(written):
                counts[written] = tables.invented_count(language.unescape(written).lower(), seed)
                return counts[written]

            engine = language.Evaluator(
                expressions, count, constants, lambda id: cpu_id != "" and tables.midr_matches(id, cpu_id), lambda _: True)
            for expression in expressions.values():
                for written in language.names(language.parse(expression)):
                    if language.unescape(written) not in expressions:
                        count(written)
            yield {"folder": name, "unit": unit, "cpu_id": cpu_id, "seed": seed, "without_perf_metrics": False,
                   "constants": constants, "counts": counts, "configs": {}, "metrics": {n: engine.metric(n) for n in entries}, "thresholds": {}}
