"""The tables against toplev's own formulas, on the same invented counts.

toplev is Intel's methodology as its author maintains it, apart from perf's tables. Every node
that both have is compared, at every level, with SMT off and on and for one thread and the core;
at levels 1 and 2 so is whether the node is flagged.
Nodes that differ stand in toplev_disagreements.json with the reason; a node of level 1 or 2 may
not stand there, and one that agrees again has to leave it.
"""
import json
import sys
import unittest
from pathlib import Path

import metric_language as language
import runner
import tables
import toplev
from tables_test import CPUS, place

MODULES = {"skylakex": "skx_server", "cascadelakex": "clx_server", "icelakex": "icx_server",
           "sapphirerapids": "spr_server", "graniterapids": "gnr_server", "sandybridge": "snb_client",
           "jaketown": "jkt_server", "ivybridge": "ivb_client", "ivytown": "ivb_server", "haswell": "hsw_client",
           "haswellx": "hsx_server", "broadwell": "bdw_client", "broadwellx": "bdx_server", "skylake": "skl_client",
           "icelake": "icl_client", "alderlake/cpu_core": "adl_glc", "alderlake/cpu_atom": "adl_grt",
           "meteorlake/cpu_core": "mtl_rwc", "meteorlake/cpu_atom": "mtl_cmt", "lunarlake/cpu_core": "lnl_lnc",
           "lunarlake/cpu_atom": "lnl_skt", "sierraforest": "srf"}
TOLERANCE = 1e-9
REVIEWED = json.loads((Path(__file__).parent / "toplev_disagreements.json").read_text())
REVIEWED_NAMES = {(cpu, n) for row in REVIEWED for cpu in row["cpus"] for n in row["names"]}


def flagged(cpu, name, engine):
    """Whether the vendor's own threshold flags a metric."""
    return bool(engine.value(language.parse(cpu.metrics[name]["MetricThreshold"])))


def close(ours, theirs):
    return ours is not None and abs(ours - theirs) <= TOLERANCE * max(abs(theirs), 1e-12)


@unittest.skipUnless(toplev.available(), "pmu-tools is not installed: third_party/setup.sh --test installs it")
class Toplev(unittest.TestCase):
    def compare(self, cpu, module, perf_metrics=True):
        """(nodes that agree in every case, nodes that differ in one, nodes that toplev cannot count here)."""
        agree, differ, uncounted = set(), set(), set()
        for smt in (0, 1):
            for core_wide in (0, 1):
                model = toplev.Model(module, smt, core_wide, perf_metrics)
                for seed in (2, 4, 6):
                    count = tables.invented(cpu, seed)
                    engine = tables.evaluator(cpu, count, tables.constants(cpu.folder, smt, core_wide, pmem=1))
                    theirs = {}
                    # Parents first, and then all again: a node's threshold asks for its parent's, and Retiring's for
                    # a child's.
                    names = sorted(set(cpu.metrics) & set(model.nodes), key=lambda n: (place(cpu, n).get("level", 9), n))
                    for name in 2 * names:
                        try:
                            theirs[name] = model.value(name, count)
                        except toplev.NotCounted:
                            uncounted.add(name)
                    for name in (n for n in theirs if "level" in place(cpu, n)):
                        same = close(engine.metric(name), theirs[name]) and \
                            (place(cpu, name)["level"] > 2 or model.flagged(name) == flagged(cpu, name, engine))
                        (agree if same else differ).add(name)
        return agree - differ, differ, {n for n in uncounted if "level" in place(cpu, n)}

    def test_nodes_agree_but_for_the_reviewed(self):
        found, compared = set(), 0
        for cpu in (c for c in CPUS if repr(c) in MODULES):
            agree, differ, uncounted = self.compare(cpu, MODULES[repr(cpu)] + "_ratios")
            found |= {(repr(cpu), name) for name in differ}
            compared += len(agree)
            top = {n for n in cpu.metrics if place(cpu, n).get("level", 9) <= 2}
            self.assertLessEqual(top, agree, cpu)
            print(f"{cpu}: {len(agree)} nodes agree, {len(differ)} differ, {len(uncounted)} use other events",
                  file=sys.stderr)
        self.assertEqual(found, REVIEWED_NAMES)
        self.assertGreater(compared, 1500)

    def test_without_perf_metrics(self):
        compared = 0
        for cpu in (c for c in CPUS if repr(c) in MODULES):
            other = cpu.without_perf_metrics()
            if other is None:
                self.assertFalse(any("topdown" in m["MetricExpr"] for m in cpu.metrics.values()), cpu)
                continue
            self.assertFalse(any("topdown" in m["MetricExpr"] for m in other.metrics.values()), cpu)
            agree, differ, _ = self.compare(other, MODULES[repr(cpu)] + "_ratios", perf_metrics=False)
            top = {n for n in cpu.metrics if place(cpu, n).get("level", 9) <= 2}
            self.assertLessEqual(top, agree, cpu)
            self.assertLessEqual({(repr(cpu), name) for name in differ}, REVIEWED_NAMES)
            compared += 1
        self.assertEqual(compared, 7)

    def test_a_small_error_would_differ(self):
        cpu = next(c for c in CPUS if c.folder == "cascadelakex")
        count = tables.invented(cpu, 2)
        model = toplev.Model("clx_server_ratios", 0, 1)
        ours = tables.evaluator(cpu, count, tables.constants(cpu.folder, 0, 1)).metric("tma_memory_bound")
        theirs = model.value("tma_memory_bound", count)
        self.assertTrue(close(ours, theirs))
        self.assertFalse(close(ours * (1 + 1e-6), theirs))


if __name__ == "__main__":
    runner.main()
