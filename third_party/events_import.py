#!/usr/bin/env python3
"""Regenerate or verify `events/` from a checkout of Linux's `tools/perf/pmu-events/arch`.

    third_party/events_import.py --arch-tree DIR --write  [--cpu NAME] [--source TEXT]
    third_party/events_import.py --arch-tree DIR --verify [--cpu NAME]

Encodings, formulas, thresholds and counter constraints are facts and are carried over as
they stand upstream. Descriptions are this project's own and come from
`events/descriptions.json`; `--write` and `--verify` name every metric that has none.
What is taken is said in `events_selection.json` beside this file, the project's own
translation (TLB) metrics in `events_own_metrics.json`, and the formulas that do without Intel's
PERF_METRICS in `events_without_perf_metrics.json`. Other files in a CPU's folder
(such as `geometry.json`) are neither read nor touched.

Exit status: 0 when `events/` agrees with the tree, 1 when it differs, 2 on bad usage.
"""
import argparse
import csv
import difflib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EVENTS = HERE.parent / "events"

METRIC_KEYS = ["MetricName", "MetricExpr", "MetricGroup", "MetricThreshold", "MetricConstraint",
               "MetricgroupNoGroup", "ScaleUnit", "Unit", "Compat", "BriefDescription"]
EVENT_KEYS = ["EventName", "EventCode", "UMask", "CounterMask", "Invert", "EdgeDetect", "AnyThread",
              "MSRIndex", "MSRValue", "Counter", "SampleAfterValue", "PEBS", "Data_LA", "Errata",
              "Deprecated", "RetirementLatencyMean", "RetirementLatencyMin", "RetirementLatencyMax",
              "Unit", "BriefDescription"]
CORE_UNITS = (None, "cpu_core", "cpu_atom")

# A name in a metric expression, as perf's own scanner delimits it: escapes belong to it.
# Upstream leaves an occasional "=" without its escape; it is no operator, so it is part of a name.
IDENTIFIER = re.compile(r"(?:\\[-,=]|[0-9A-Za-z_.:@?=])+")
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(?:e-?[0-9]+)?$")
LITERAL = re.compile(r"#[0-9A-Za-z_.\-]+")
WORDS = {"if", "else", "min", "max", "d_ratio", "source_count", "aggr_nr", "has_event",
         "strcmp_cpuid_str", "NaN"}


def identifiers(expression):
    """The event and metric names in `expression`, in order, escapes removed."""
    names = IDENTIFIER.findall(LITERAL.sub(" ", expression or ""))
    return [name.replace("\\", "") for name in names
            if not NUMBER.match(name) and name not in WORDS and not name.startswith("0x")]


def event_name(identifier):
    """The table name within an identifier.

    `cpu@EVENT,cmask=1@`, `EVENT@offcore_rsp=0x1@` and `EVENT:k` all give `EVENT`. What
    stands before the first @ is a PMU where it is in lower case, as the kernel names PMUs.
    """
    if "@" in identifier:
        head, terms = identifier.split("@")[:2]
        identifier = terms.split(",")[0] if head.islower() else head
    return identifier.split(":")[0]


class Folder:
    """The events and metrics of one upstream folder, architecture standard events filled in."""

    def __init__(self, tree, folder):
        standard = {}
        arch = tree / folder.split("/")[0]
        for path in sorted(arch.glob("*.json")):
            for entry in json.loads(path.read_text()):
                for key in ("EventName", "MetricName"):
                    if key in entry:
                        standard[entry[key].lower()] = entry
        self.standard = {name: entry for name, entry in standard.items() if "EventName" in entry}
        self.events, self.metrics, self.counters = [], [], []
        seen = set()
        for path in sorted((tree / folder).glob("*.json")):
            entries = json.loads(path.read_text())
            if not isinstance(entries, list):
                continue
            for entry in entries:
                if "ArchStdEvent" in entry:
                    entry = {**standard[entry["ArchStdEvent"].lower()], **entry}
                if entry.get("Unit") not in CORE_UNITS and entry.get("Unit") != "core":
                    continue
                if "CountersNumGeneric" in entry:
                    self.counters.append(entry)
                elif "MetricName" in entry and (entry["MetricName"], entry.get("Unit")) not in seen:
                    # perf keeps the first of two metrics with one name.
                    seen.add((entry["MetricName"], entry.get("Unit")))
                    self.metrics.append(entry)
                elif "EventName" in entry:
                    self.events.append(entry)
        self.event_index = {(e["EventName"].lower(), e.get("Unit")): e for e in self.events}
        self.metric_index = {(m["MetricName"], m.get("Unit")): m for m in self.metrics}

    def metric(self, name, unit):
        return self.metric_index.get((name, unit)) or self.metric_index.get((name, None))

    def event(self, name, unit):
        return self.event_index.get((name.lower(), unit)) or self.event_index.get((name.lower(), None))


def wanted_metrics(folder, selection, name):
    """The metrics that the selection names, for every CPU or for this one, and those that these need."""
    patterns = selection["metric_names"] + selection.get("metric_names_of", {}).get(name, [])

    def matches(metric):
        groups = metric.get("MetricGroup", "").split(";")
        return (any(re.fullmatch(p, g) for p in selection["metric_groups"] for g in groups)
                or any(re.fullmatch(p, metric["MetricName"]) for p in patterns))

    def counts_elsewhere(metric):
        return any(re.match(selection["uncore_events"], name) for name in identifiers(metric["MetricExpr"]))

    chosen, queue = {}, [m for m in folder.metrics if matches(m) and not counts_elsewhere(m)]
    while queue:
        metric = queue.pop()
        key = (metric["MetricName"], metric.get("Unit"))
        if key in chosen:
            continue
        chosen[key] = metric
        for name in identifiers(metric["MetricExpr"]) + identifiers(metric.get("MetricThreshold")):
            nested = folder.metric(name, metric.get("Unit"))
            if nested:
                queue.append(nested)
    return [m for m in folder.metrics if (m["MetricName"], m.get("Unit")) in chosen]


def own_metrics(folder, templates, units):
    """The project's own metrics whose every event this folder has; the first variant that fits wins."""
    found = []
    for unit in units:
        for template in templates:
            for variant in template["MetricExpr"]:
                names = [event_name(name) for name in identifiers(variant)]
                if all(folder.event(name, unit) for name in names):
                    metric = {key: value for key, value in template.items() if key != "MetricExpr"}
                    metric["MetricExpr"] = variant.replace("cpu@", f"{unit}@") if unit else variant
                    if unit:
                        metric["Unit"] = unit
                    found.append(metric)
                    break
    return found


def needed_events(folder, metrics, selection, units):
    """Table entries of every event that `metrics` refer to, and the selection's core set."""
    names = {(event_name(name), metric.get("Unit")) for metric in metrics
             for name in identifiers(metric["MetricExpr"]) + identifiers(metric.get("MetricThreshold"))}
    keys = set()
    for name, unit in names:
        for candidate in (unit,) if unit else units:
            entry = folder.event(name, candidate)
            if entry:
                keys.add((entry["EventName"].lower(), entry.get("Unit")))
    for entry in folder.events:
        if any(re.fullmatch(p, entry["EventName"]) for p in selection["core_events"]):
            keys.add((entry["EventName"].lower(), entry.get("Unit")))
    return [e for e in folder.events if (e["EventName"].lower(), e.get("Unit")) in keys]


def add_standard_events(folder, names):
    """Adds architectural events that a folder's formulas name but upstream's folder leaves to the kernel."""
    for name in names:
        if name.lower() in folder.standard and not folder.event(name, None):
            entry = folder.standard[name.lower()]
            folder.events.append(entry)
            folder.event_index[(name.lower(), None)] = entry


def kernel_events(folder, selection, units):
    """The names that the kernel itself publishes for PERF_METRICS; upstream tables lack them."""
    found = []
    for unit in units:
        if unit == "cpu_atom" or not folder.event("TOPDOWN.SLOTS", unit):
            continue
        level_two = folder.event("TOPDOWN.MEMORY_BOUND_SLOTS", unit) is not None and \
            any("topdown\\-mem\\-bound" in m["MetricExpr"] for m in folder.metrics)
        for entry in selection["perf_metrics_events"]:
            if entry.get("Level") == 2 and not level_two:
                continue
            entry = {k: v for k, v in entry.items() if k != "Level"}
            found.append({**entry, "Unit": unit} if unit else entry)
    return found


def without_perf_metrics(folder, metrics, templates):
    """Formulas on ordinary counters for the metrics that read PERF_METRICS, which a VM may hide."""
    found = []
    for metric in metrics:
        unit = metric.get("Unit")
        for variant in templates.get(metric["MetricName"], []):
            names = [event_name(name) for name in identifiers(variant["MetricExpr"])]
            known = all(folder.event(name, unit) or folder.metric(name, unit) for name in names)
            if known and re.search(variant["where"], metric["MetricExpr"]) and folder.event("TOPDOWN.SLOTS", unit):
                entry = {"MetricName": metric["MetricName"], "MetricExpr": variant["MetricExpr"]}
                found.append({**entry, "Unit": unit} if unit else entry)
                break
    return found


def in_order(entry, keys):
    return {key: entry[key] for key in keys if key in entry}


def tidy(entry):
    """Drops what says nothing: zero fields and an event select register that is not used."""
    return {k: v for k, v in entry.items()
            if not (k in ("CounterMask", "Invert", "EdgeDetect", "AnyThread", "PEBS") and v == "0")
            and not (k in ("MSRIndex", "MSRValue") and v in ("0", "0x0", "0x00"))}


def describe(entry, name, descriptions, missing):
    """The entry with this project's words; a name without words, or with upstream's, is `missing`."""
    copied = descriptions.get(name) == entry.get("BriefDescription", "")
    entry = {k: v for k, v in entry.items() if k != "BriefDescription"}
    if descriptions.get(name) and not copied:
        entry["BriefDescription"] = descriptions[name]
    else:
        missing.add(name)
    return entry


def metrics_text(metrics):
    return json.dumps(metrics, indent=1, ensure_ascii=False) + "\n"


def lines_text(entries):
    return "[\n" + ",\n".join(" " + json.dumps(e, ensure_ascii=False) for e in entries) + "\n]\n"


def version_of(tree, folder):
    arch, _, rest = folder.partition("/")
    for row in csv.reader((tree / arch / "mapfile.csv").read_text().splitlines()):
        if len(row) >= 4 and row[2] == rest:
            return row[1]
    return "unversioned"


def folder_files(tree, name, upstream, data, source, missing):
    """The generated files of one CPU: name to text."""
    selection, descriptions = data["selection"], data["descriptions"]
    folder = Folder(tree, upstream)
    units = sorted({m.get("Unit") for m in folder.metrics + folder.events if m.get("Unit")}) or [None]
    metrics = wanted_metrics(folder, selection, name)
    add_standard_events(folder, selection["architectural_events"].get(name, []) +
                        [event_name(i) for m in metrics for i in identifiers(m["MetricExpr"])])
    own = own_metrics(folder, data["own_metrics"], units)
    fallback = without_perf_metrics(folder, metrics, data["without_perf_metrics"])
    events = needed_events(folder, metrics + own + fallback, selection, units)
    kernel = kernel_events(folder, selection, units)
    by_name = lambda e: (e.get("Unit", ""), e["EventName"].lower())
    metric_order = lambda m: (m.get("Unit", ""), m["MetricName"].lower())
    described = [in_order(describe(m, m["MetricName"], descriptions["metrics"], missing), METRIC_KEYS)
                 for m in sorted(metrics, key=metric_order)]
    own_described = [in_order(describe(m, m["MetricName"], descriptions["metrics"], missing), METRIC_KEYS)
                     for m in sorted(own, key=metric_order)]
    files = {
        "events.json": lines_text([in_order(describe(tidy(e), e["EventName"], descriptions["events"], missing), EVENT_KEYS)
                                   for e in sorted(events + kernel, key=by_name)]),
        "SOURCE": source_text(upstream, version_of(tree, upstream), source, bool(own), bool(kernel)),
    }
    if described:
        files["metrics.json"] = metrics_text(described)
    if own_described:
        files["tlb-metrics.json"] = metrics_text(own_described)
    if fallback:
        files["without-perf-metrics/metrics.json"] = metrics_text(sorted(fallback, key=metric_order))
    if folder.counters:
        keys = ["Unit", "CountersNumFixed", "CountersNumGeneric"]
        files["counter.json"] = lines_text([in_order(c, keys) for c in folder.counters])
    return files


def source_text(upstream, version, source, own, kernel):
    text = (f"{source}, tools/perf/pmu-events/arch/{upstream}, file version {version}\n"
            "Encodings, formulas, thresholds and counter constraints are carried over as they stand there;\n"
            "descriptions are this project's own. Regenerated by third_party/events_import.py.\n")
    if own:
        text += ("tlb-metrics.json holds this project's own translation metrics over the vendor's events;\n"
                 "they have the same names for every vendor.\n")
    if kernel:
        text += ("slots and topdown-* in events.json are the names that the kernel publishes for\n"
                 "PERF_METRICS; upstream's tables do not list them.\n")
    return text


def mapfile_text(tree, folders):
    """One map for all vendors: upstream's rows, in upstream's order, of the folders taken."""
    rows = []
    for arch in ("x86", "arm64"):
        for row in csv.reader((tree / arch / "mapfile.csv").read_text().splitlines()):
            if len(row) < 4 or row[0].startswith("#") or row[0] == "Family-model":
                continue
            for name, upstream in folders.items():
                if upstream == f"{arch}/{row[2]}":
                    rows.append(",".join([row[0], row[1], name, row[3]]))
    return MAPFILE_HEAD + "\n".join(rows) + "\n"


MAPFILE_HEAD = """\
# CPU id to folder, first match wins; upstream's rows, one file for all vendors.
# x86: column 1 is an extended regular expression over the whole id that perf builds from
#   CPUID, vendor-family-model[-stepping]; the stepping may be left out by the row.
# Arm: column 1 is a MIDR. Variant [23:20] and revision [3:0] are not part of the match:
#   a row's id is equal to the CPU's with both masked, and not newer than it.
# A hybrid CPU has one row; its events and metrics carry Unit cpu_core or cpu_atom.
Family-model,Version,Filename,EventType
"""


def compare_or_write(path, text, write):
    """Writes `text`, or returns the difference from what the file holds."""
    old = path.read_text() if path.exists() else ""
    if old == text:
        return []
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return []
    name = str(path.relative_to(EVENTS))
    return list(difflib.unified_diff(old.splitlines(), text.splitlines(), name, "upstream", lineterm="", n=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch-tree", type=Path, required=True, metavar="DIR",
                        help="a pmu-events/arch folder of a kernel source tree")
    parser.add_argument("--cpu", metavar="NAME", help="only this folder of events/")
    parser.add_argument("--source", metavar="TEXT", help="what the tree is; default: as recorded in the selection")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="regenerate the files")
    mode.add_argument("--verify", action="store_true", help="change nothing; print how the files differ")
    options = parser.parse_args()
    if not (options.arch_tree / "x86" / "mapfile.csv").is_file():
        parser.error(f"{options.arch_tree} has no x86/mapfile.csv: give the folder pmu-events/arch")

    read = lambda path: json.loads(path.read_text())
    data = {"selection": read(HERE / "events_selection.json"), "descriptions": read(EVENTS / "descriptions.json"),
            "own_metrics": read(HERE / "events_own_metrics.json"),
            "without_perf_metrics": {t["MetricName"]: t["variants"] for t in read(HERE / "events_without_perf_metrics.json")}}
    folders = data["selection"]["folders"]
    if options.cpu and options.cpu not in folders:
        parser.error(f"{options.cpu} is not in events_selection.json; it has {', '.join(sorted(folders))}")

    differences, missing, metrics = [], set(), 0
    for name, upstream in folders.items():
        if options.cpu not in (None, name):
            continue
        files = folder_files(options.arch_tree, name, upstream, data,
                             options.source or data["selection"]["source"], missing)
        for file, text in files.items():
            differences += compare_or_write(EVENTS / name / file, text, options.write)
            metrics += text.count('"MetricName"')
    differences += compare_or_write(EVENTS / "mapfile.csv", mapfile_text(options.arch_tree, folders), options.write)

    report = differences + [f"no description: {name} (add it to events/descriptions.json)" for name in sorted(missing)]
    count = 1 if options.cpu else len(folders)
    report.append(f"{count} CPUs, {metrics} metrics, {len(differences)} lines differ, {len(missing)} descriptions missing")
    print("\n".join(report))
    return 1 if differences or missing else 0


if __name__ == "__main__":
    sys.exit(main())
