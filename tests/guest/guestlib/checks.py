"""Judges what came out of a guest against what is known to be true.

Every check returns a list of complaints; none means that it passed. A check that an expectation names but that finds
nothing to look at complains too: nothing passes by being absent.
"""
import json
import re

from guestlib import truth

MISSING = "no such value"
TOO_WIDE = "are too wide to say anything"


def close(name, value, true, tolerance):
    if not isinstance(value, (int, float)):
        return [f"{name}: {value!r} is not a number, expected {true:.6f}"]
    if abs(value - true) > tolerance:
        return [f"{name}: {value:.6f}, expected {true:.6f} within {tolerance}"]
    return []


class Outcome:
    """One run of a scenario's command: its outputs, and its record if it printed one."""

    def __init__(self, out, err, status):
        self.out, self.err, self.status = out, err, status

    def record(self):
        """The JSON record on stdout; None if there is none."""
        try:
            return json.loads(self.out)
        except json.JSONDecodeError:
            return None

    def metrics(self, unit=""):
        """Metrics by name: of the first run, or of the run of one PMU of a hybrid."""
        record = self.record() or {"runs": []}
        runs = [run for run in record["runs"] if not unit or run["parameters"].get("pmu") == unit]
        return {m["name"]: m for m in runs[0]["metrics"]} if runs else {}


def check_status(outcome, expected, scenario):
    if outcome.status != expected:
        return [f"exit status {outcome.status}, expected {expected}; stderr: {outcome.err.strip()[-300:]!r}"]
    return []


def check_source(outcome, expected, scenario):
    record = outcome.record()
    kind = record["source"]["kind"] if record else MISSING
    return [] if kind == expected else [f"source is {kind}, expected {expected}; stderr: {outcome.err.strip()[-300:]!r}"]


def true_trees(scenario):
    """(PMU's name in the record, true metrics) of every PMU of the machine that the scenario's runs were on."""
    atom = scenario.atom_workload()
    if not atom:
        return [("", scenario.workload().metrics())]
    where = scenario.expect.get("on", "both")
    trees = [("cpu_core", scenario.workload().metrics()), ("cpu_atom", atom.metrics())]
    return [tree for tree in trees if where in ("both", tree[0])]


def check_pmus(outcome, expected, scenario):
    """expected: the PMUs of a hybrid that have a tree in the record, in order."""
    record = outcome.record()
    found = [run["parameters"].get("pmu") for run in record["runs"]] if record else []
    return [] if found == expected else [f"trees of {found}, expected {expected}"]


def check_tree(outcome, expected, scenario):
    """expected: a tolerance, or "bounds": the printed low..high must hold the true value and be at most 0.1 wide."""
    complaints = []
    for unit, tree in true_trees(scenario):
        complaints += compare(outcome.metrics(unit), tree, expected, scenario, unit)
    return complaints


def check_translation(outcome, expected, scenario):
    """As check_tree for the translation metrics; tolerances and widths are shares of the true value."""
    complaints = []
    for name, true in scenario.workload().translation().items():
        scaled = {name: {key: value / true if key in ("value", "low", "high") and value is not None else value
                         for key, value in metric.items()} for name_, metric in outcome.metrics().items() if name_ == name}
        complaints += compare(scaled, {name: 1.0}, expected, scenario, "")
    return complaints


def compare(found, tree, expected, scenario, unit):
    complaints = []
    for name, true in tree.items():
        metric = found.get(name)
        label = f"{unit} {name}".strip()
        lacks = metric is None or metric.get("status") == "unavailable"
        if lacks and scenario.expect.get("may_lack"):
            continue    # no value is fine here; a wrong one is not
        if metric is None:
            complaints.append(f"{label}: {MISSING}")
        elif metric.get("status") != scenario.expect.get("tree_status", {}).get(name, "measured"):
            complaints.append(f"{label}: {metric.get('status')} ({metric.get('reason')})")
        elif expected == "bounds":
            low, high = metric["low"], metric["high"]
            slack = scenario.expect.get("slack", 1e-4)
            if not low - slack <= true <= high + slack:
                complaints.append(f"{label}: {true:.6f} is outside {low:.6f}..{high:.6f}")
            if high - low > scenario.expect.get("widest", 0.1):
                complaints.append(f"{label}: bounds {low:.6f}..{high:.6f} {TOO_WIDE}")
        else:
            complaints += close(label, metric["value"], true, expected)
    return complaints


def check_published(outcome, expected, scenario):
    """Rounded as the published table is, every value equals it."""
    found = outcome.metrics()
    complaints = []
    for name, percent in scenario.workload().published_percent.items():
        value = found.get(name, {}).get("value")
        if value is None or abs(round(100 * value, 1) - percent) > 1e-9:
            complaints.append(f"{name}: {value} is not the published {percent} %")
    return complaints


def check_event_rates(outcome, expected, scenario):
    """Every counted event's value over its enabled time is the rate that the machine was given."""
    rates = scenario.workload().by_config()
    record = outcome.record()
    complaints, seen = [], 0
    for event in record["runs"][0]["events"] if record else []:
        rate = rates.get(int(event["config"], 0))
        if rate is None or event["time_running_ns"] == 0:
            continue
        seen += 1
        measured = event["value"] * 1000 / event["time_enabled_ns"] / scenario.expect.get("rate_share", 1)
        if rate == 0:
            complaints += close(f"rate of {event['name']}", measured, 0, 0)
            continue
        complaints += close(f"rate of {event['name']}", measured / rate, 1, expected)
    return complaints if seen else ["no event with a known rate was counted"]


def check_passes(outcome, expected, scenario):
    """expected: {"min": n, "max": n} passes over all events."""
    record = outcome.record()
    passes = {event["pass"] for event in record["runs"][0]["events"]} if record else set()
    if not expected.get("min", 1) <= len(passes) <= expected.get("max", 99):
        return [f"{len(passes)} passes, expected {expected}"]
    return []


def check_counted_share(outcome, expected, scenario):
    """expected: {"min": share, "max": share} of time that the least counted event of every metric was counted."""
    complaints = []
    for _, tree in true_trees(scenario):
        for name in tree:
            share = outcome.metrics().get(name, {}).get("counted_share")
            if share is None or not expected.get("min", 0) <= share <= expected.get("max", 1):
                complaints.append(f"{name}: counted share {share}, expected {expected}")
    return complaints


def check_metrics(outcome, expected, scenario):
    """expected: {metric: {"status": ..., "value": ..., "within": ..., "reason": regex, "flag": ...}}."""
    complaints = []
    found = outcome.metrics()
    for name, wanted in expected.items():
        metric = found.get(name)
        if metric is None:
            complaints.append(f"{name}: {MISSING}")
            continue
        if "status" in wanted and metric["status"] != wanted["status"]:
            complaints.append(f"{name}: {metric['status']}, expected {wanted['status']} ({metric.get('reason')})")
        if "value" in wanted:
            complaints += close(name, metric.get("value"), wanted["value"], wanted.get("within", 0.001))
        if "reason" in wanted and not re.search(wanted["reason"], metric.get("reason") or ""):
            complaints.append(f"{name}: reason {metric.get('reason')!r} lacks {wanted['reason']!r}")
        if "flag" in wanted and wanted["flag"] not in metric.get("warnings", []):
            complaints.append(f"{name}: flags {metric.get('warnings')} lack {wanted['flag']!r}")
    return complaints


def check_texts(where):
    def check(outcome, expected, scenario):
        text = getattr(outcome, where)
        return [f"{where} lacks {pattern!r}: {text.strip()[-300:]!r}" for pattern in expected
                if not re.search(pattern, text)]
    return check


def check_lacks(outcome, expected, scenario):
    return [f"output has {pattern!r}" for pattern in expected if re.search(pattern, outcome.out + outcome.err)]


def check_record(outcome, expected, scenario):
    """expected: {"path.into.the.record": value or regex for a text}."""
    complaints = []
    for path, wanted in expected.items():
        value = outcome.record()
        for key in path.split("."):
            try:
                value = value[int(key)] if isinstance(value, list) else value[key]
            except (KeyError, IndexError, TypeError, ValueError):
                value = MISSING
                break
        same = re.search(wanted, value) if isinstance(wanted, str) and isinstance(value, str) else value == wanted
        if not same:
            complaints.append(f"{path}: {str(value)[:200]!r}, expected {wanted!r}")
    return complaints


def check_measured(outcome, expected, scenario):
    """expected: {function: share}: between the bounds of its measured share, which are at most `widest` apart. Of bounds
    of 95% some are missed by chance: a test that is to hold always allows two points more."""
    chance = 0.02
    record = outcome.record() or {"runs": [{}]}
    where = record["runs"][0].get("extra", {}).get("where", {})
    measured = {place.get("function"): place["measured"] for place in where.get("functions", []) if "measured" in place}
    complaints = []
    for function, true in expected.items():
        share = measured.get(function)
        if share is None:
            complaints.append(f"{function}: {MISSING}; stderr: {outcome.err.strip()[-300:]!r}")
        elif not share["low"] - chance <= true <= share["high"] + chance:
            complaints.append(f"{function}: {true} is outside {share['low']:.4f}..{share['high']:.4f}")
        elif share["high"] - share["low"] > scenario.expect.get("widest", 0.1):
            complaints.append(f"{function}: bounds {share['low']:.4f}..{share['high']:.4f} {TOO_WIDE}")
    return complaints


def check_regions(outcome, expected, scenario):
    """expected: {region: {...}}: "workload": whose rates it has, and "tree": how near (as check_tree, with `widest` and
    `slack`); "share": of the time that all regions have, "within"; "entries"; "per_entry": instructions, "within" of them;
    "reason": why it has no tree (a regular expression)."""
    record = outcome.record() or {"runs": [{}]}
    known = record["runs"][0].get("extra", {}).get("regions", {"list": []})["list"]
    found = {region["name"]: region for region in known}
    together = sum(region["cost"]["own_share"] for region in known if "cost" in region)
    complaints = []
    for name, wanted in expected.items():
        region = found.get(name)
        if region is None:
            complaints.append(f"region {name}: {MISSING}; stderr: {outcome.err.strip()[-300:]!r}")
            continue
        cost = region.get("cost", {})
        if "reason" in wanted and not re.search(wanted["reason"], region.get("reason", "")):
            complaints.append(f"region {name}: reason {region.get('reason')!r} lacks {wanted['reason']!r}")
        if "tree" in wanted:
            metrics = {metric["name"]: metric for metric in region.get("metrics", [])}
            complaints += compare(metrics, scenario.other(wanted["workload"]).metrics(), wanted["tree"], scenario,
                                  f"region {name}:")
        if "share" in wanted:
            share = cost.get("share")
            complaints += close(f"region {name}: share", share / together if share and together else share, wanted["share"],
                                wanted.get("within", 0.02))
            if share is not None and not cost["low"] <= share <= cost["high"]:
                complaints.append(f"region {name}: {share} is outside {cost['low']}..{cost['high']}")
        if "entries" in wanted:
            complaints += close(f"region {name}: entries", region.get("totals", {}).get("entries"), wanted["entries"], 0)
        if "per_entry" in wanted:
            complaints += close(f"region {name}: instructions an entry", cost.get("instructions_per_entry"),
                                wanted["per_entry"], wanted["per_entry"] * wanted.get("within", 0.02))
    return complaints


def perf_counts(text):
    """{config: count scaled to the enabled time} from `perf stat -x,` with events named c<hex>."""
    counts = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 4 and re.fullmatch(r"c[0-9a-f]+", fields[2]) and fields[0].isdigit():
            counts[int(fields[2][1:], 16)] = int(fields[0])
    return counts


def check_perf_stat(outcome, expected, scenario):
    """perf's own counts, put through the same formulas, give the same tree within the tolerance."""
    counted = perf_counts(outcome.err + outcome.out)
    workload = scenario.atom_workload() if scenario.expect.get("on") == "cpu_atom" else scenario.workload()
    missing = [event for event in workload.rates if workload.config(event) not in counted]
    if missing:
        return [f"perf stat counted no {', '.join(missing[:4])}: {outcome.err.strip()[-300:]!r}"]
    tree = truth.FORMULAS[workload.formulas](lambda event: counted[workload.config(event)])
    return [complaint for name, true in workload.metrics().items()
            for complaint in close(f"perf stat's {name}", tree[name], true, expected)]


CHECKS = {
    "status": check_status, "source": check_source, "tree": check_tree, "translation": check_translation, "published": check_published,
    "event_rates": check_event_rates, "passes": check_passes, "counted_share": check_counted_share,
    "metrics": check_metrics, "stdout": check_texts("out"), "stderr": check_texts("err"), "lacks": check_lacks,
    "record": check_record, "pmus": check_pmus, "perf_stat": check_perf_stat,
    "measured": check_measured, "regions": check_regions,
}
SETTINGS = {"tree_status", "on", "slack", "rate_share", "widest", "complains", "may_lack"}


def without_busy_moments(complaints, runs):
    """The truth lies within the bounds of every run, or a complaint stays. How wide they are depends on what else the
    host does: one run of a scenario with narrow bounds shows that the tool can say something."""
    wide = {complaint.split(":")[0] for complaint in complaints if complaint.endswith(TOO_WIDE)}
    return complaints if len(wide) == runs else [c for c in complaints if not c.endswith(TOO_WIDE)]


def only_too_wide(complaints):
    """Whether that is all there is to complain of."""
    return bool(complaints) and all(complaint.endswith(TOO_WIDE) for complaint in complaints)


def only_absent(complaints):
    """Whether values that are not there are all there is to complain of: a program of which nothing was met."""
    return bool(complaints) and all(MISSING in complaint for complaint in complaints)


def judge(scenario, outcomes):
    """All complaints about all runs of a scenario, each with the number of its run."""
    unknown = set(scenario.expect) - set(CHECKS) - SETTINGS
    if unknown:
        return [f"unknown expectation {sorted(unknown)}"]
    if not scenario.expect:
        return ["nothing is expected of this scenario"]
    complaints = []
    for number, outcome in enumerate(outcomes):
        if outcome is None:
            complaints.append(f"run {number}: did not happen")
            continue
        for key, expected in scenario.expect.items():
            if key in CHECKS:
                complaints += [f"run {number}: {c}" for c in CHECKS[key](outcome, expected, scenario)]
    complaints = without_busy_moments(complaints, len(outcomes))
    planted = scenario.expect.get("complains")
    if planted:
        # A fault was planted on purpose: the checks must see it, or they could not fail.
        seen = any(re.search(planted, complaint) for complaint in complaints)
        return [] if seen else [f"the planted fault was not noticed: no complaint matches {planted!r}", *complaints]
    return complaints
