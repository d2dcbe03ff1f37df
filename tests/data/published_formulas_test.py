"""Levels 1 and 2 worked out by hand from the vendors' published formulas, against the tables.

The formulas below are written in the short notation of the publications, not taken from the
tables: a table that is wrong in a sign, a width, an encoding or a pair of parentheses differs.
Events are asked for by encoding where the table's name could hide a wrong one.
"""
import re
import unittest

import metric_language as language
import runner
import tables
from tables_test import CPUS


def choose(*folders, unit=None):
    return [c for c in CPUS if c.folder in folders and c.unit == unit]


class Counts:
    """Invented counts by encoding: what the hardware would count, whatever the table calls it."""

    def __init__(self, cpu, seed):
        self.seed = seed

    def __call__(self, event, umask=0, **fields):
        encoding = {"EventCode": event, "UMask": umask, **fields}
        text = ",".join(f"{k}={encoding[k]:#x}" for k in tables.ENCODING if encoding.get(k) or k == "EventCode")
        return tables.invented_count(text, self.seed)


def skylake(n, smt, core_wide):
    clk = n(0x3C)
    one_thread, ref_xclk, thread_any = n(0x3C, 2), n(0x3C, 1), n(0x3C, AnyThread=1)
    cc = thread_any / 2 if smt else clk  # without SMT, ONE_THREAD_ACTIVE is REF_XCLK
    if not core_wide:
        cc = clk / 2 * (1 + one_thread / ref_xclk)
    slots = 4 * cc
    r = n(0x0D, 1, AnyThread=1) / 2 if smt else n(0x0D, 1)
    issued, retired = n(0x0E, 1), n(0xC2, 2)
    fe, ret = n(0x9C, 1) / slots, retired / slots
    bad = (issued - retired + 4 * r) / slots
    be = 1 - fe - (issued + 4 * r) / slots
    latency = 4 * n(0x9C, 1, CounterMask=4) / slots
    misp, clears = n(0xC5), n(0xC3, 1, CounterMask=1, EdgeDetect=1)
    mispredicts = bad * misp / (misp + clears)
    stores = n(0xA6, 0x40)
    memory = be * (n(0xA3, 0x14, CounterMask=20) + stores) / \
        (n(0xA3, 4, CounterMask=4) + n(0xA6, 2) + ret * n(0xA6, 4) + stores)
    heavy = (retired + n(0xC2, 4) - n(0xC0)) / slots
    return {"tma_frontend_bound": fe, "tma_retiring": ret, "tma_bad_speculation": bad, "tma_backend_bound": be,
            "tma_fetch_latency": latency, "tma_fetch_bandwidth": fe - latency,
            "tma_branch_mispredicts": mispredicts, "tma_machine_clears": bad - mispredicts,
            "tma_memory_bound": memory, "tma_core_bound": be - memory,
            "tma_heavy_operations": heavy, "tma_light_operations": ret - heavy}


def perf_metrics(n):
    parts = {"ret": 0x80, "bad": 0x81, "fe": 0x82, "be": 0x83, "heavy": 0x84, "misp": 0x85, "lat": 0x86, "mem": 0x87}
    counts = {name: n(0, umask) for name, umask in parts.items()}
    total = counts["fe"] + counts["bad"] + counts["ret"] + counts["be"]
    return {name: count / total for name, count in counts.items()}


def ice_lake_server(n, smt, core_wide):
    part, slots, dropped = perf_metrics(n), n(0, 4), n(0x0D, 0x10)
    fe, ret = part["fe"] - dropped / slots, part["ret"]
    be = part["be"] + 5 * n(0x0D, 1, CounterMask=1, EdgeDetect=1) / slots
    bad = max(1 - (fe + be + ret), 0)
    latency = (5 * n(0x9C, 1, CounterMask=5) - dropped) / slots
    misp, clears = n(0xC5), n(0xC3, 1, CounterMask=1, EdgeDetect=1)
    mispredicts = bad * misp / (misp + clears)
    stores = n(0xA6, 0x40, CounterMask=2)
    memory = be * (n(0xA3, 0x14, CounterMask=20) + stores) / \
        (n(0xA3, 4, CounterMask=4) + n(0xA6, 2) + ret * n(0xA6, 4) + stores)
    heavy = n(0xC2, 2) / n(0x0E, 1) * n(0x79, 0x30) / slots + \
        ret * (n(0x56, 1) - n(0x56, 1, CounterMask=1)) / n(0x79, 4)
    return {"tma_frontend_bound": fe, "tma_retiring": ret, "tma_bad_speculation": bad, "tma_backend_bound": be,
            "tma_fetch_latency": latency, "tma_fetch_bandwidth": max(0, fe - latency),
            "tma_branch_mispredicts": mispredicts, "tma_machine_clears": max(0, bad - mispredicts),
            "tma_memory_bound": memory, "tma_core_bound": max(0, be - memory),
            "tma_heavy_operations": heavy, "tma_light_operations": max(0, ret - heavy)}


def golden_cove(n, smt, core_wide, drops=True):
    part = perf_metrics(n)
    dropped = n(0xAD, 0x10) / n(0, 4) if drops else 0
    fe, ret, be = part["fe"] - dropped, part["ret"], part["be"]
    bad = max(1 - (fe + be + ret), 0) if drops else part["bad"]
    latency = part["lat"] - dropped
    return {"tma_frontend_bound": fe, "tma_retiring": ret, "tma_bad_speculation": bad, "tma_backend_bound": be,
            "tma_fetch_latency": latency, "tma_fetch_bandwidth": max(0, fe - latency),
            "tma_branch_mispredicts": part["misp"], "tma_machine_clears": max(0, bad - part["misp"]),
            "tma_memory_bound": part["mem"], "tma_core_bound": max(0, be - part["mem"]),
            "tma_heavy_operations": part["heavy"], "tma_light_operations": max(0, ret - part["heavy"])}


def lion_cove(n, smt, core_wide):
    return golden_cove(n, smt, core_wide, drops=False)


def gracemont(n, smt, core_wide):
    slots = 5 * n(0x3C)
    fe, be, ret = n(0x71) / slots, n(0x74) / slots, n(0xC2) / slots
    core = n(0x74, 1) / slots
    return {"tma_frontend_bound": fe, "tma_backend_bound": be, "tma_retiring": ret,
            "tma_bad_speculation": 1 - fe - be - ret,
            "tma_ifetch_latency": n(0x71, 0x72) / slots, "tma_ifetch_bandwidth": n(0x71, 0x8D) / slots,
            "tma_branch_mispredicts": n(0x73, 4) / slots, "tma_machine_clears": n(0x73, 3) / slots,
            "tma_core_bound": core, "tma_resource_bound": be - core}


def zen(width, resync, prefix):
    def formulas(n, smt, core_wide):
        total = width * n(0x76)
        idle, idle_all = n(0x1A0, 1), n(0x1A0, 1, CounterMask=width)
        retired, microcode = n(0xC1), n(0x1C2)
        bad, be, ret = (n(0xAA, 7) - retired) / total, n(0x1A0, 0x1E) / total, retired / total
        misp, restarts = n(0xC3), n(*resync)
        waiting = n(0xD6, 0xA2) / n(0xD6, 2)
        by, of = prefix
        return {"frontend_bound": idle / total, "bad_speculation": bad, "backend_bound": be, "retiring": ret,
                "smt_contention": n(0x1A0, 0x60) / total,
                f"frontend_bound{by}_latency": width * idle_all / total,
                f"frontend_bound{by}_bandwidth": (idle - width * idle_all) / total,
                f"bad_speculation{of}_mispredicts": bad * misp / (misp + restarts),
                f"bad_speculation{of}_pipeline_restarts": bad * restarts / (misp + restarts),
                f"backend_bound{by}_memory": be * waiting, f"backend_bound{by}_cpu": be * (1 - waiting),
                f"retiring{of}_fastpath": ret * (1 - microcode / retired), f"retiring{of}_microcode": ret * microcode / retired}
    return formulas


def neoverse(width, front, back, extra=0):
    """front, back: mispredictions' cost in cycles that moves from the ends to bad speculation."""
    def formulas(n, smt, core_wide):
        c, misp = n(0x11), n(0x10)
        stalled, idle = n(0x3F) - extra * c, n(0x3E) - extra * c
        used, share = 1 - stalled / (width * c), n(0x3A) / n(0x3B)
        return {"frontend_bound": 100 * (idle / (width * c) - front * misp / c),
                "backend_bound": 100 * (n(0x3D) / (width * c) - back * misp / c),
                "retiring": 100 * share * used,
                "bad_speculation": 100 * ((1 - share) * used + (front + back) * misp / c)}
    return formulas


def neoverse_n1(n, smt, core_wide):
    return {"frontend_stalled_cycles": 100 * n(0x23) / n(0x11), "backend_stalled_cycles": 100 * n(0x24) / n(0x11)}


def kunpeng(n, smt, core_wide):
    c = n(0x11)
    fe, bad, ret = n(0x2014) / (4 * c), (n(0x1B) - n(0x08)) / (4 * c), n(0x08) / (4 * c)
    latency, mispredicts = n(0x201D) / c, bad * n(0x10) / (n(0x10) + n(0x2013))
    waiting = n(0x7004) + n(0x7005)
    return {"frontend_bound": fe, "bad_speculation": bad, "retiring": ret, "backend_bound": 1 - fe - bad - ret,
            "fetch_latency_bound": latency, "fetch_bandwidth_bound": fe - latency,
            "branch_mispredicts": mispredicts, "machine_clears": bad - mispredicts,
            "memory_bound": waiting / c, "core_bound": (n(0x7001) - waiting) / c}


def translation(kind):
    """Load and store translation of Intel's server cores: (load event, store event, cost, active mask)."""
    load, store, cost = kind

    def formulas(n, smt, core_wide):
        clk = n(0x3C)
        return {"tlb_load_walks_pki": 1000 * n(load, 0x0E) / n(0xC0), "tlb_store_walks_pki": 1000 * n(store, 0x0E) / n(0xC0),
                "tlb_load_walks_4k_pki": 1000 * n(load, 2) / n(0xC0), "tlb_load_walks_2m_pki": 1000 * n(load, 4) / n(0xC0),
                "tlb_load_walks_1g_pki": 1000 * n(load, 8) / n(0xC0),
                "tlb_load_walk_cycles": n(load, 0x10, CounterMask=1) / clk,
                "tma_dtlb_load": min(cost * n(load, 0x20, CounterMask=1) + n(load, 0x10, CounterMask=1),
                                     max(n(0xA3, 0x10, CounterMask=16) - n(0xA3, 8, CounterMask=8), 0)) / clk}
    return formulas


def zen_translation(n, smt, core_wide):
    i = n(0xC0)
    return {"tlb_data_walks_pki": 1000 * n(0x45, 0xF0) / i, "tlb_data_l1_misses_pki": 1000 * n(0x45, 0xFF) / i,
            "tlb_data_walks_4k_pki": 1000 * n(0x45, 0x10) / i, "tlb_data_walks_coalesced_pki": 1000 * n(0x45, 0x20) / i,
            "tlb_data_walks_2m_pki": 1000 * n(0x45, 0x40) / i, "tlb_data_walks_1g_pki": 1000 * n(0x45, 0x80) / i,
            "tlb_data_l1_misses_2m_pki": 1000 * (n(0x45, 0x04) + n(0x45, 0x40)) / i}


def arm_translation(n, smt, core_wide):
    return {"tlb_data_walks_pki": 1000 * n(0x34) / n(0x08), "tlb_data_walk_ratio": n(0x34) / n(0x25),
            "tlb_data_l1_misses_pki": 1000 * n(0x05) / n(0x08), "tlb_data_l2_misses_pki": 1000 * n(0x2D) / n(0x08)}


class Published(unittest.TestCase):
    def hold(self, cpus, formulas, cpu_id="", seeds=(1, 2, 3, 4)):
        self.assertTrue(cpus)
        for cpu in cpus:
            for seed in seeds:
                for smt, core_wide in ((0, 0), (1, 0), (1, 1)):
                    constants = tables.constants(cpu.folder, smt, core_wide, cpu_id)
                    engine = tables.evaluator(cpu, tables.invented(cpu, seed), constants, cpu_id)
                    for name, value in formulas(Counts(cpu, seed), smt, core_wide).items():
                        got = engine.metric(name)
                        self.assertAlmostEqual(got / value if value else got, 1.0 if value else 0.0, 11,
                                               f"{cpu} {name} seed {seed} smt {smt} core-wide {core_wide}: {got} {value}")

    def test_skylake_and_cascade_lake_server(self):
        self.hold(choose("skylakex", "cascadelakex"), skylake)

    def test_ice_lake_server(self):
        self.hold(choose("icelakex"), ice_lake_server)

    def test_golden_cove(self):
        self.hold(choose("sapphirerapids", "emeraldrapids", "graniterapids"), golden_cove)
        self.hold(choose("alderlake", "meteorlake", unit="cpu_core"), golden_cove)

    def test_lion_cove(self):
        self.hold(choose("lunarlake", "arrowlake", unit="cpu_core"), lion_cove)

    def test_gracemont(self):
        self.hold(choose("alderlake", unit="cpu_atom") + choose("alderlaken"), gracemont)

    def test_zen(self):
        self.hold(choose("amdzen4"), zen(6, (0x96,), ("", "")))
        self.hold(choose("amdzen5", "amdzen6"), zen(8, (0x9F, 1), ("_by", "_from")))

    def test_neoverse(self):
        self.hold(choose("neoverse-v1"), neoverse(8, 4, 0))
        self.hold(choose("neoverse-n2-v2"), neoverse(8, 1, 3), "0x00000000410fd4f0")
        self.hold(choose("neoverse-n2-v2"), neoverse(5, 1, 3, extra=1), "0x00000000410fd490")
        self.hold(choose("neoverse-n2-v2"), neoverse(5, 1, 3), "0x00000000410fd493")
        self.hold(choose("neoverse-n1"), neoverse_n1)

    def test_kunpeng(self):
        self.hold(choose("hip08"), kunpeng)

    def test_translation(self):
        self.hold(choose("skylakex", "cascadelakex"), translation((0x08, 0x49, 9)))
        self.hold(choose("icelakex"), translation((0x08, 0x49, 7)))
        self.hold(choose("amdzen1", "amdzen2", "amdzen3", "amdzen4", "amdzen5", "amdzen6"), zen_translation)
        self.hold(choose("neoverse-n1", "neoverse-v1", "neoverse-n2-v2", "neoverse-n3", "neoverse-v3", "hip08"), arm_translation)


class OldErrors(unittest.TestCase):
    """Older trees lack parentheses in memory_bound on these cores: the stalls on memory must be
    divided by all of the back end's stalls as one sum."""

    # One made-up run by what the events mean: 1000 cycles, in 400 of them nothing executes, in 300
    # of those a load is outstanding; 600 execute 1 or more, 400 execute 2 or more, 200 execute 3.
    RUN = [(r"CPU_CLK_UNHALTED\.THREAD$", 1000), (r"CYCLE_ACTIVITY\.(STALLS_(MEM_ANY|LDM_PENDING|L1D_PENDING))", 300),
           (r"CYCLE_ACTIVITY\.(STALLS_TOTAL|CYCLES_NO_EXECUTE|CYCLES_NO_DISPATCH)", 400), (r"RESOURCE_STALLS\.SB", 50),
           (r".*(CYCLES_GE_1_UOP|cmask=1@)", 600), (r".*(CYCLES_GE_2_UOPS|cmask=2@)", 400), (r".*(CYCLES_GE_3_UOPS|cmask=3@)", 200),
           (r"CPU_CLK_UNHALTED\.(ONE_THREAD_ACTIVE|REF_XCLK)", 10), (r"INST_RETIRED\.ANY", 900), (r"IDQ_UOPS_NOT_DELIVERED\.CORE", 100), (r"IDQ_UOPS_NOT_DELIVERED\.CYCLES_0", 10),
           (r"UOPS_ISSUED\.ANY", 1500), (r"UOPS_RETIRED\.RETIRE_SLOTS", 1400), (r"INT_MISC\.RECOVERY_CYCLES", 5)]

    def test_memory_bound_is_a_share_of_the_back_end(self):
        for cpu in choose("sandybridge", "jaketown", "ivybridge", "ivytown", "haswell", "haswellx",
                          "broadwell", "broadwellx", "broadwellde"):
            counts = lambda name: next((float(v) for p, v in self.RUN if re.match(p, language.unescape(name))), 0.0)
            engine = tables.evaluator(cpu, counts, tables.constants(cpu.folder, 0, 0))
            backend = 1 - 100 / 4000 - (1500 + 4 * 5) / 4000
            memory = (300 + 50) / (400 + 600 - 400 + 50) * backend
            self.assertAlmostEqual(engine.metric("tma_backend_bound"), backend, 12, cpu)
            self.assertAlmostEqual(engine.metric("tma_memory_bound"), memory, 12, cpu)
            self.assertAlmostEqual(engine.metric("tma_core_bound"), backend - memory, 12, cpu)


if __name__ == "__main__":
    runner.main()
