"""Every table in `events/`: schema, names, tree, sums, and how closely the values are held."""
import itertools
import json
import re
import unittest
from pathlib import Path

import metric_language as language
import runner
import tables

EVENT_KEYS = {"EventName", "EventCode", "UMask", "CounterMask", "Invert", "EdgeDetect", "AnyThread",
              "MSRIndex", "MSRValue", "Counter", "SampleAfterValue", "PEBS", "Data_LA", "Errata", "Deprecated",
              "RetirementLatencyMean", "RetirementLatencyMin", "RetirementLatencyMax", "Unit", "BriefDescription"}
METRIC_KEYS = {"MetricName", "MetricExpr", "MetricGroup", "MetricThreshold", "MetricConstraint",
               "MetricgroupNoGroup", "ScaleUnit", "Unit", "Compat", "BriefDescription"}
# Of this project's own trees.
OWN_KEYS = METRIC_KEYS | {"MetricLow", "MetricHigh", "Approximate", "Source"}
CPUS = tables.cpus()
FALLBACKS = [other for other in (cpu.without_perf_metrics() for cpu in CPUS) if other]
LEVEL = re.compile(r"(?:Topdown|Pipeline)L(\d)")


def levels(metric):
    return [int(n) for n in LEVEL.findall(metric.get("MetricGroup", ""))]


def rows():
    return tables.read("categories.json")


def place(cpu, name):
    """The row of categories.json for a metric of this CPU, by the rule that events/README.md gives."""
    for row in rows():
        if row["name"] == name and ("parent" not in row or row["parent"] in cpu.metrics) \
                and row.get("without") not in cpu.metrics:
            return row
    return None


def values(cpu, seed, smt=0, core_wide=0, counts=None):
    cpu_id = next((r["cpu"] for r in tables.read("cpus.json") if r["folder"] == cpu.folder and "cpu" in r), "")
    constants = tables.constants(cpu.folder, smt, core_wide, cpu_id)
    return tables.evaluator(cpu, counts or tables.invented(cpu, seed), constants, cpu_id)


class Schema(unittest.TestCase):
    def test_keys_and_numbers(self):
        for folder in tables.folders():
            for event in tables.read(f"{folder}/events.json"):
                self.assertLessEqual(set(event), EVENT_KEYS, (folder, event["EventName"]))
                self.assertIn("BriefDescription", event, (folder, event["EventName"]))
                # Fixed counters have no EventCode upstream: it is 0 then.
                self.assertTrue("EventCode" in event or event["Counter"].startswith("Fixed"), (folder, event))
                for key in tables.ENCODING:
                    if key in event:
                        self.assertGreaterEqual(tables.number(event[key]), 0, (folder, event))
        for cpu in CPUS:
            for name, metric in cpu.metrics.items():
                self.assertLessEqual(set(metric), OWN_KEYS if "Approximate" in metric else METRIC_KEYS, (cpu, name))
                self.assertEqual("Approximate" in metric, "Source" in metric, (cpu, name))
                self.assertIn("BriefDescription", metric, (cpu, name))
                self.assertLessEqual(len(metric["BriefDescription"]), 200, (cpu, name))

    def test_each_name_once(self):
        for folder in tables.folders():
            names = [(e["EventName"].lower(), e.get("Unit")) for e in tables.read(f"{folder}/events.json")]
            self.assertEqual(len(names), len(set(names)), folder)
            both = [(m["MetricName"], m.get("Unit")) for f in tables.TABLE_FILES if (tables.EVENTS / folder / f).exists()
                    for m in tables.read(f"{folder}/{f}") if "MetricName" in m]
            self.assertEqual(len(both), len(set(both)), folder)

    def test_every_folder_says_its_source_and_title(self):
        titled = {row["folder"] for row in tables.read("cpus.json")}
        for folder in tables.folders():
            self.assertRegex((tables.EVENTS / folder / "SOURCE").read_text(), r"^Linux \d+\.\d+.*pmu-events")
            self.assertIn(folder, titled)

    def test_short_names_mean_one_cpu(self):
        names = [name for row in tables.read("cpus.json") for name in row.get("names", [])]
        self.assertEqual(len(names), len(set(names)))
        self.assertFalse(set(names) & set(tables.folders()))
        self.assertEqual(names, [name.lower() for name in names])
        for row in tables.read("libpfm4.json"):
            self.assertIn(row["pmu"], names)

    def test_size(self):
        size = sum(p.stat().st_size for p in tables.EVENTS.rglob("*") if p.is_file())
        self.assertLess(size, 6 << 20)


class Names(unittest.TestCase):
    def test_every_expression_parses_and_every_event_resolves(self):
        for cpu in CPUS + FALLBACKS:
            for name, metric in cpu.metrics.items():
                for key in ("MetricExpr", "MetricThreshold"):
                    for written in language.names(language.parse(metric.get(key, "0"))):
                        plain = language.unescape(written)
                        self.assertTrue(plain in cpu.metrics or cpu.encoding(written) is not None,
                                        f"{cpu} {name}: {written}")

    def test_literals_are_known(self):
        for cpu in CPUS:
            known = tables.constants(cpu.folder, 0, 0)
            for name, metric in cpu.metrics.items():
                for literal in re.findall(r"#[A-Za-z_]+", metric["MetricExpr"]):
                    self.assertIn(literal.lower(), known, (cpu, name))

    def test_a_wrong_name_would_be_caught(self):
        cpu = next(c for c in CPUS if c.folder == "cascadelakex")
        self.assertIsNone(cpu.encoding("UOPS_RETIRED.NO_SUCH"))
        with self.assertRaises(language.Malformed):
            language.parse("1 + (2")


class Map(unittest.TestCase):
    IDS = json.loads((Path(__file__).parent / "cpu_ids.json").read_text())

    def test_ids_find_their_folder(self):
        lines = (tables.EVENTS / "mapfile.csv").read_text().splitlines()
        rows = [line.split(",") for line in lines if not line.startswith(("#", "Family"))]
        for row in rows:
            self.assertIn(row[2], tables.folders())
        for cpu_id, folder in self.IDS.items():
            found = [r[2] for r in rows if
                     (tables.midr_matches(r[0], cpu_id) if r[0].startswith("0x") == cpu_id.startswith("0x") == True
                      else re.fullmatch(r[0].replace("[[:xdigit:]]", "[0-9A-Fa-f]") + "(-[0-9A-F]+)?", cpu_id))]
            self.assertTrue(found, cpu_id)
            self.assertEqual(found[0], folder, cpu_id)
        self.assertEqual(set(self.IDS.values()), set(tables.folders()))


class Tree(unittest.TestCase):
    def test_every_metric_has_a_place(self):
        for cpu in CPUS:
            for name, metric in cpu.metrics.items():
                row = place(cpu, name)
                self.assertIsNotNone(row, (cpu, name))
                if levels(metric):
                    self.assertEqual(row["level"], min(levels(metric)), (cpu, name))

    def test_parents_are_those_of_the_groups(self):
        for cpu in CPUS:
            for name, metric in cpu.metrics.items():
                groups = [g[:-6] for g in metric.get("MetricGroup", "").split(";")
                          if g.endswith("_group") and g[:-6] in cpu.metrics]
                if groups and levels(metric):
                    self.assertEqual([place(cpu, name)["parent"]], groups, (cpu, name))

    def test_each_node_hangs_below_a_root_of_its_category(self):
        for cpu in CPUS:
            for name in cpu.metrics:
                row = place(cpu, name)
                if "level" not in row:
                    continue
                if row["level"] == 1:
                    self.assertNotIn("parent", row, (cpu, name))
                else:
                    above = place(cpu, row["parent"])
                    self.assertLess(above["level"], row["level"], (cpu, name))
                    self.assertEqual(above["category"], row["category"], (cpu, name))

    def test_levels_one_and_two_of_all_core_types(self):
        with_tree = [cpu for cpu in CPUS if sum(1 in levels(m) for m in cpu.metrics.values()) or
                     {"frontend_bound", "backend_bound"} <= set(cpu.metrics)]
        own = [cpu.folder for cpu in with_tree if any("Approximate" in m for m in cpu.metrics.values())]
        self.assertEqual(own, ["amdzen1", "amdzen2", "amdzen3", "clearwaterforest", "novalake", "novalake",
                               "pantherlake", "pantherlake"])
        self.assertEqual(len(with_tree), 41 + len(own))
        for cpu in CPUS:
            roots = {place(cpu, n)["category"] for n in cpu.metrics if place(cpu, n).get("level") == 1}
            if cpu in with_tree:
                self.assertLessEqual({"frontend", "backend", "bad_speculation", "retiring"}, roots, cpu)
            elif cpu.folder == "neoverse-n1":
                self.assertEqual(roots, {"frontend", "backend"})
            self.assertTrue(any(place(cpu, n)["category"] == "tlb" for n in cpu.metrics), cpu)

    def test_limits_of_own_trees_hold_the_value(self):
        for cpu in CPUS:
            for smt, seed in itertools.product((0, 1), (2, 4, 6)):
                engine = values(cpu, seed, smt, 0)
                for name, metric in cpu.metrics.items():
                    value = engine.metric(name)
                    for key, fits in (("MetricLow", lambda low: low <= value + 1e-9), ("MetricHigh", lambda high: high >= value - 1e-9)):
                        if key in metric:
                            self.assertTrue(fits(engine.value(language.parse(metric[key]))), (cpu, name, key, seed))

    def test_thresholds_and_advice(self):
        ours = {n for row in tables.read("thresholds.json") for n in row["names"]}
        known = {row["name"] for row in rows()}
        for row in tables.read("thresholds.json"):
            self.assertTrue(row["reason"])
        self.assertLessEqual(ours, known)
        for row in tables.read("advice.json"):
            self.assertLessEqual(set(row.get("names", [])), known)
        for cpu in CPUS:
            for name, metric in cpu.metrics.items():
                row = place(cpu, name)
                if row.get("level", 9) <= 2:
                    self.assertTrue("MetricThreshold" in metric or name in ours, (cpu, name))
                if row.get("level"):
                    self.assertTrue(any(a.get("category") == row["category"] and
                                        a.get("subcategory", row.get("subcategory")) == row.get("subcategory")
                                        for a in tables.read("advice.json")), (cpu, name))


class Values(unittest.TestCase):
    def test_every_metric_is_finite_on_invented_counts(self):
        for cpu in CPUS + FALLBACKS:
            for smt in (0, 1):
                for core_wide in (0, 1):
                    engine = values(cpu, 2, smt, core_wide)
                    for name in cpu.metrics:
                        self.assertIsNotNone(engine.metric(name), (cpu, name, smt, core_wide))

    def test_all_zero_counts_give_zero_or_nothing_at_level_one(self):
        for cpu in CPUS:
            engine = values(cpu, 0)
            for name in cpu.metrics:
                value = engine.metric(name)
                if 1 in levels(cpu.metrics[name]):
                    self.assertIn(value, (None, 0.0), (cpu, name))

    def level_one(self, cpu):
        return [n for n in cpu.metrics if place(cpu, n).get("level") == 1]

    def sum_of(self, cpu, engine, names):
        return sum(engine.metric(n) for n in names)

    def test_level_one_sums_to_one(self):
        """Where the vendor's formulas make it so: on any counts for Intel and hip08, on counts that
        keep the vendor's own accounting (slots used + slots lost = slots) for AMD and Arm."""
        for cpu in CPUS + FALLBACKS:
            names, counts = self.level_one(cpu), None
            if not names or cpu.folder == "neoverse-n1":  # none published, or cycles that overlap
                continue
            percent = cpu.folder.startswith(("neoverse", "ampere", "t410"))
            if cpu.folder.startswith("amdzen"):
                counts = amd_accounting(cpu)
            elif cpu.folder.startswith("neoverse"):
                counts = arm_accounting(cpu)
            elif "TOPDOWN_BAD_SPECULATION.ALL_P" in cpu.metrics.get("tma_bad_speculation", {}).get("MetricExpr", ""):
                counts = e_core_accounting(cpu)
            for seed in (2, 4):
                engine = values(cpu, seed, counts=counts)
                total = self.sum_of(cpu, engine, names)
                expected = 100.0 if percent else 1.0
                self.assertAlmostEqual(total / expected, 1.0, 9, (cpu, names, [engine.metric(n) for n in names]))

    def test_children_sum_to_their_parent(self):
        """Level 2 on slots adds up to level 1, but where max(0, ...) cut a child off."""
        checked = 0
        for cpu in CPUS:
            counts = amd_accounting(cpu) if cpu.folder.startswith("amdzen") else None
            engine = values(cpu, 2, counts=counts)
            for parent in self.level_one(cpu):
                children = [n for n in cpu.metrics if place(cpu, n).get("parent") == parent
                            and place(cpu, n)["level"] == 2 and place(cpu, n)["basis"] == "slots"]
                cut = any(cpu.metrics[c]["MetricExpr"].startswith("max(") and engine.metric(c) == 0 for c in children)
                if len(children) < 2 or cut or cpu.folder.startswith("ampere"):
                    continue
                if parent in ("tma_frontend_bound", "tma_bad_speculation") and "tma_ifetch_latency" in cpu.metrics:
                    continue  # E-cores count each child by itself
                checked += 1
                self.assertAlmostEqual(self.sum_of(cpu, engine, children), engine.metric(parent), 9, (cpu, parent))
        self.assertGreater(checked, 80)

    def test_hip08_level_three(self):
        cpu = next(c for c in CPUS if c.folder == "hip08")
        engine = values(cpu, 2)
        for parent, children in {"memory_bound": ["l1_bound", "l2_bound", "mem_bound", "store_bound"],
                                 "core_bound": ["divider", "fsu_stall", "exe_ports_util"]}.items():
            self.assertAlmostEqual(self.sum_of(cpu, engine, children), engine.metric(parent), 9)
        for shares in (["indirect_branch", "push_branch", "pop_branch", "other_branch"], ["nuke_flush", "other_flush"]):
            self.assertAlmostEqual(self.sum_of(cpu, engine, shares), 1.0, 9)


def amd_accounting(cpu):
    """Counts in which every dispatch slot is used, or lost for one of the three counted reasons."""
    plain = tables.invented(cpu, 2)
    width = 6 if cpu.folder == "amdzen4" else 8
    cycles = plain("ls_not_halted_cyc")
    share = {"de_no_dispatch_per_slot.no_ops_from_frontend": 0.25, "de_no_dispatch_per_slot.backend_stalls": 0.35,
             "de_no_dispatch_per_slot.smt_contention": 0.1, "de_src_op_disp.all": 0.3, "ex_ret_ops": 0.28,
             "ex_ret_ucode_ops": 0.01, "ex_no_retire.not_complete": 0.05, "ex_no_retire.load_not_complete": 0.03}
    return lambda name: share[name] * width * cycles if name in share else plain(name)


def e_core_accounting(cpu):
    """Counts of an E-core that counts all four classes: they share the slots."""
    plain = tables.invented(cpu, 2)
    width = 8 if cpu.folder in ("arrowlake", "lunarlake") else 6
    slots = width * plain("CPU_CLK_UNHALTED.CORE")
    share = {"TOPDOWN_FE_BOUND": 0.3, "TOPDOWN_BAD_SPECULATION": 0.1, "TOPDOWN_BE_BOUND": 0.35, "TOPDOWN_RETIRING": 0.25}

    def count(name):
        event = name.split("@")[1] if "@" in name else name
        event, _, kind = event.partition(".")
        return share[event] * slots if event in share and kind in ("ALL", "ALL_P") else plain(name)
    return count


def arm_accounting(cpu):
    """Counts in which stalled slots are those of the front end and those of the back end."""
    plain = tables.invented(cpu, 2)
    cycles = plain("CPU_CYCLES")
    slots = tables.slots_of(cpu.folder, "0x00000000410fd490") * cycles
    # N2 before r0p3 counts one slot too many per cycle, which its formulas take off again.
    extra = cycles if cpu.folder == "neoverse-n2-v2" else 0
    given = {"STALL_SLOT_FRONTEND": 0.3 * slots + extra, "STALL_SLOT_BACKEND": 0.4 * slots,
             "STALL_SLOT": 0.7 * slots + extra, "OP_SPEC": 0.3 * slots, "OP_RETIRED": 0.25 * slots}
    return lambda name: given.get(name.upper(), plain(name))


class Sharpness(unittest.TestCase):
    """A formula that is off by one part in a million must not pass."""

    NUMBER = re.compile(r"(?<![\w.#@\\=])(\d+\.?\d*(?:e-?\d+)?)(?![\w.\\@])")

    def mutants(self, expression):
        for match in self.NUMBER.finditer(expression):
            # A limit is seen only where the value is near, and of a truth value there is nothing to see.
            no_factor = re.search(r"[<>^] *$", expression[:match.start()])
            if float(match[1]) and not no_factor:
                changed = repr(float(match[1]) * (1 + 1e-6))
                yield expression[:match.start()] + changed.replace("e+", "e") + expression[match.end():]

    def test_mutated_constants_are_caught(self):
        caught = 0
        for cpu in CPUS:
            for name in (n for n in cpu.metrics if place(cpu, n).get("level", 9) <= 2):
                original = cpu.metrics[name]
                if "Approximate" in original and "min(" in original["MetricExpr"]:
                    continue  # its limit on memory is seen only where few lines were fetched
                for mutant in self.mutants(original["MetricExpr"]):
                    seen = False
                    for seed, smt, core_wide in ((2, 0, 0), (2, 1, 0), (2, 1, 1), (1, 0, 0)):
                        before = values(cpu, seed, smt, core_wide).metric(name)
                        cpu.metrics[name] = {**original, "MetricExpr": mutant}
                        after = values(cpu, seed, smt, core_wide).metric(name)
                        cpu.metrics[name] = original
                        seen |= before is not None and abs(after - before) > 1e-9 * abs(before)
                    self.assertTrue(seen, (cpu, name, mutant))
                    caught += 1
        self.assertGreater(caught, 200)


if __name__ == "__main__":
    runner.main()
