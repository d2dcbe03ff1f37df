"""What the top-down tree and the translation metrics must be, from the rates: the vendors' formulas written out by hand.

They are deliberately not the expressions of events/ and not tmaprobe's evaluator: a mistake would have to be made twice.
Every function takes r, which gives an event's rate by its vendor name, and returns {metric: fraction of slots},
or the unit of a translation metric.
"""


def cascadelake(r):
    """Skylake-X and Cascade Lake with SMT off: four slots a cycle."""
    slots = 4 * r("CPU_CLK_UNHALTED.THREAD")
    retired = r("UOPS_RETIRED.RETIRE_SLOTS")
    recovery = 4 * r("INT_MISC.RECOVERY_CYCLES")
    frontend = r("IDQ_UOPS_NOT_DELIVERED.CORE") / slots
    latency = 4 * r("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE") / slots
    retiring = retired / slots
    bad = (r("UOPS_ISSUED.ANY") - retired + recovery) / slots
    backend = 1 - frontend - (r("UOPS_ISSUED.ANY") + recovery) / slots
    heavy = (retired + r("UOPS_RETIRED.MACRO_FUSED") - r("INST_RETIRED.ANY")) / slots
    return intel_tree(frontend, latency, bad, mispredicted_share(r) * bad, backend,
                      memory_share(r, retiring) * backend, retiring, heavy)


def cascadelake_smt(r):
    """The same with SMT on and both CPUs of a core counted, each at these rates: the core's own clock counts its slots."""
    slots = 4 * r("CPU_CLK_UNHALTED.THREAD_ANY")
    both = {event: 2 * r(event) / slots for event in (
        "IDQ_UOPS_NOT_DELIVERED.CORE", "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", "UOPS_RETIRED.RETIRE_SLOTS",
        "UOPS_ISSUED.ANY", "UOPS_RETIRED.MACRO_FUSED", "INST_RETIRED.ANY")}
    retiring = both["UOPS_RETIRED.RETIRE_SLOTS"]
    recovery = 4 * r("INT_MISC.RECOVERY_CYCLES_ANY") / slots    # seen by both CPUs, and halved
    frontend = both["IDQ_UOPS_NOT_DELIVERED.CORE"]
    latency = 4 * both["IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE"]
    bad = both["UOPS_ISSUED.ANY"] - retiring + recovery
    backend = 1 - frontend - both["UOPS_ISSUED.ANY"] - recovery
    heavy = retiring + both["UOPS_RETIRED.MACRO_FUSED"] - both["INST_RETIRED.ANY"]
    return intel_tree(frontend, latency, bad, mispredicted_share(r) * bad, backend,
                      memory_share(r, retiring) * backend, retiring, heavy)


def mispredicted_share(r):
    mispredicted = r("BR_MISP_RETIRED.ALL_BRANCHES")
    return mispredicted / (mispredicted + r("MACHINE_CLEARS.COUNT"))


def memory_share(r, retiring):
    """The part of back-end stalls that waits for memory, before Golden Cove counts it itself."""
    stores = r("EXE_ACTIVITY.BOUND_ON_STORES")
    busy = r("EXE_ACTIVITY.1_PORTS_UTIL") + retiring * r("EXE_ACTIVITY.2_PORTS_UTIL")
    return (r("CYCLE_ACTIVITY.STALLS_MEM_ANY") + stores) / (r("CYCLE_ACTIVITY.STALLS_TOTAL") + busy + stores)


def intel_tree(frontend, latency, bad, mispredicts, backend, memory, retiring, heavy):
    return {
        "tma_frontend_bound": frontend, "tma_fetch_latency": latency, "tma_fetch_bandwidth": frontend - latency,
        "tma_bad_speculation": bad, "tma_branch_mispredicts": mispredicts, "tma_machine_clears": bad - mispredicts,
        "tma_backend_bound": backend, "tma_memory_bound": memory, "tma_core_bound": backend - memory,
        "tma_retiring": retiring, "tma_heavy_operations": heavy, "tma_light_operations": retiring - heavy,
    }


def shares(r, names):
    """Each named topdown event as a share of the four of level 1."""
    whole = sum(r(f"topdown-{name}") for name in ("fe-bound", "bad-spec", "retiring", "be-bound"))
    return [r(f"topdown-{name}") / whole for name in names]


def icelake(r):
    slots = r("TOPDOWN.SLOTS")
    dropped = r("INT_MISC.UOP_DROPPING") / slots
    frontend, retiring, backend = shares(r, ("fe-bound", "retiring", "be-bound"))
    frontend -= dropped
    backend += 5 * r("INT_MISC.CLEARS_COUNT") / slots
    bad = max(1 - (frontend + backend + retiring), 0)
    latency = 5 * r("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE") / slots - dropped
    microcode = r("UOPS_RETIRED.SLOTS") / r("UOPS_ISSUED.ANY") * r("IDQ.MS_UOPS") / slots
    decoded = (r("UOPS_DECODED.DEC0") - r("UOPS_DECODED.DEC0:cmask=1")) / r("IDQ.MITE_UOPS")
    return intel_tree(frontend, latency, bad, mispredicted_share(r) * bad, backend, memory_share(r, retiring) * backend,
                      retiring, microcode + retiring * decoded)


def golden_cove(r):
    """Sapphire Rapids and the P-cores of Alder Lake, with PERF_METRICS."""
    dropped = r("INT_MISC.UOP_DROPPING") / r("TOPDOWN.SLOTS")
    frontend, retiring, backend = shares(r, ("fe-bound", "retiring", "be-bound"))
    latency, mispredicts, memory, heavy = shares(r, ("fetch-lat", "br-mispredict", "mem-bound", "heavy-ops"))
    frontend -= dropped
    bad = max(1 - (frontend + backend + retiring), 0)
    return intel_tree(frontend, latency - dropped, bad, mispredicts, backend, memory, retiring, heavy)


def golden_cove_fallback(r):
    """Sapphire Rapids where PERF_METRICS is hidden."""
    slots = r("TOPDOWN.SLOTS")
    dropped = r("INT_MISC.UOP_DROPPING")
    frontend = (r("IDQ_BUBBLES.CORE") - dropped) / slots
    latency = (6 * r("IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE") - dropped) / slots
    retiring = r("UOPS_RETIRED.SLOTS") / slots
    backend = r("TOPDOWN.BACKEND_BOUND_SLOTS") / slots
    bad = max(1 - (frontend + backend + retiring), 0)
    return intel_tree(frontend, latency, bad, r("TOPDOWN.BR_MISPREDICT_SLOTS") / slots, backend,
                      r("TOPDOWN.MEMORY_BOUND_SLOTS") / slots, retiring, r("UOPS_RETIRED.HEAVY") / slots)


def gracemont(r):
    """The E-cores of Alder Lake: five slots a cycle."""
    slots = 5 * r("CPU_CLK_UNHALTED.CORE")
    lost = {name: r(event) / slots for name, event in {
        "tma_frontend_bound": "TOPDOWN_FE_BOUND.ALL", "tma_backend_bound": "TOPDOWN_BE_BOUND.ALL",
        "tma_retiring": "TOPDOWN_RETIRING.ALL", "tma_ifetch_latency": "TOPDOWN_FE_BOUND.FRONTEND_LATENCY",
        "tma_ifetch_bandwidth": "TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH",
        "tma_branch_mispredicts": "TOPDOWN_BAD_SPECULATION.MISPREDICT",
        "tma_machine_clears": "TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS",
        "tma_core_bound": "TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS"}.items()}
    lost["tma_bad_speculation"] = 1 - lost["tma_frontend_bound"] - lost["tma_backend_bound"] - lost["tma_retiring"]
    lost["tma_resource_bound"] = lost["tma_backend_bound"] - lost["tma_core_bound"]
    return lost


def zen4(r):
    slots = 6 * r("ls_not_halted_cyc")
    frontend = r("de_no_dispatch_per_slot.no_ops_from_frontend")
    no_op_at_all = 6 * r("de_no_dispatch_per_slot.no_ops_from_frontend:cmask=6")
    bad = (r("de_src_op_disp.all") - r("ex_ret_ops")) / slots
    mispredicted, restarted = r("ex_ret_brn_misp"), r("resyncs_or_nc_redirects")
    mispredicts = bad * mispredicted / (mispredicted + restarted) if mispredicted + restarted else 0
    restarts = bad * restarted / (mispredicted + restarted) if mispredicted + restarted else 0
    backend = r("de_no_dispatch_per_slot.backend_stalls") / slots
    waiting = r("ex_no_retire.load_not_complete") / r("ex_no_retire.not_complete")
    retiring = r("ex_ret_ops") / slots
    microcode = retiring * r("ex_ret_ucode_ops") / r("ex_ret_ops")
    return {
        "frontend_bound": frontend / slots, "frontend_bound_latency": no_op_at_all / slots,
        "frontend_bound_bandwidth": (frontend - no_op_at_all) / slots,
        "bad_speculation": bad, "bad_speculation_mispredicts": mispredicts,
        "bad_speculation_pipeline_restarts": restarts,
        "backend_bound": backend, "backend_bound_memory": backend * waiting, "backend_bound_cpu": backend * (1 - waiting),
        "smt_contention": r("de_no_dispatch_per_slot.smt_contention") / slots,
        "retiring": retiring, "retiring_microcode": microcode, "retiring_fastpath": retiring - microcode,
    }


def zen3(r):
    """What the events of Zen 3 say exactly; how front end and back end share the rest is the workload's to say."""
    slots = 6 * r("ls_not_halted_cyc")
    return {"retiring": r("ex_ret_ops") / slots,
            "bad_speculation": (r("de_dis_cops_from_decoder.any_dispatch") - r("ex_ret_ops")) / slots,
            "frontend_bound_latency": r("de_dis_uop_queue_empty_di0") / r("ls_not_halted_cyc")}


def zen3_translation(r):
    """And what stands below the tree."""
    per_thousand = 1000 / r("ex_ret_instr")
    to_l2, beyond = r("l2_cache_req_stat.ic_dc_hit_in_l2"), r("l2_cache_req_stat.ic_dc_miss_in_l2")
    return {"instructions_per_cycle": r("ex_ret_instr") / r("ls_not_halted_cyc"), "branch_mispredictions_pki": per_thousand * r("ex_ret_brn_misp"),
            "l1_misses_pki": per_thousand * (to_l2 + beyond), "l2_misses_pki": per_thousand * beyond,
            "tlb_data_l1_misses_pki": per_thousand * r("ls_l1_d_tlb_miss.all"),
            "tlb_data_walks_pki": per_thousand * r("l2_dtlb_misses")}


def neoverse_n2(r):
    """Neoverse N2 r0p0: five slots; stall counts include one cycle too many each (corrected from r0p3 on)."""
    cycles = r("CPU_CYCLES")
    slots = 5 * cycles
    useful = r("OP_RETIRED") / r("OP_SPEC")
    occupied = 1 - (r("STALL_SLOT") - cycles) / slots
    mispredicted = r("BR_MIS_PRED") / cycles
    return {
        "frontend_bound": (r("STALL_SLOT_FRONTEND") - cycles) / slots - mispredicted,
        "backend_bound": r("STALL_SLOT_BACKEND") / slots - 3 * mispredicted,
        "retiring": useful * occupied, "bad_speculation": (1 - useful) * occupied + 4 * mispredicted,
    }


def hip08(r):
    """Kunpeng 920: four slots; level 2 on the vendor's own events, given here by their codes."""
    cycles = r("CPU_CYCLES")
    frontend = r("FETCH_BUBBLE") / (4 * cycles)
    bad = (r("INST_SPEC") - r("INST_RETIRED")) / (4 * cycles)
    retiring = r("INST_RETIRED") / (4 * cycles)
    latency = r("0x201d") / cycles
    mispredicts = bad * r("BR_MIS_PRED") / (r("BR_MIS_PRED") + r("0x2013"))
    waiting = r("MEM_STALL_ANYLOAD") + r("0x7005")
    return {
        "frontend_bound": frontend, "fetch_latency_bound": latency, "fetch_bandwidth_bound": frontend - latency,
        "bad_speculation": bad, "branch_mispredicts": mispredicts, "machine_clears": bad - mispredicts,
        "backend_bound": 1 - frontend - bad - retiring, "memory_bound": waiting / cycles,
        "core_bound": (r("EXE_STALL_CYCLE") - waiting) / cycles, "retiring": retiring,
    }


def neoverse_n1(r):
    """Neoverse N1 publishes stalled cycles alone. The emulator's own PMU never stalls, and an instruction takes the time of
    two of its cycles."""
    return {"frontend_stalled_cycles": r("STALL_FRONTEND") / r("CPU_CYCLES"),
            "backend_stalled_cycles": r("STALL_BACKEND") / r("CPU_CYCLES")}


def intel_translation(r):
    per_thousand = 1000 / r("INST_RETIRED.ANY")
    loads, stores = r("DTLB_LOAD_MISSES.WALK_COMPLETED"), r("DTLB_STORE_MISSES.WALK_COMPLETED")
    return {
        "tlb_load_walks_pki": per_thousand * loads, "tlb_store_walks_pki": per_thousand * stores,
        "tlb_data_walks_pki": per_thousand * (loads + stores),
        "tlb_code_walks_pki": per_thousand * r("ITLB_MISSES.WALK_COMPLETED"),
        "tlb_load_l2_hits_pki": per_thousand * r("DTLB_LOAD_MISSES.STLB_HIT"),
        "tlb_load_walk_cycles": r("DTLB_LOAD_MISSES.WALK_ACTIVE") / r("CPU_CLK_UNHALTED.THREAD"),
        "tlb_load_walk_latency": r("DTLB_LOAD_MISSES.WALK_PENDING") / loads,
    }


def zen4_translation(r):
    per_thousand = 1000 / r("ex_ret_instr")
    misses, walks = r("ls_l1_d_tlb_miss.all"), r("ls_l1_d_tlb_miss.all_l2_miss")
    code_walks = r("bp_l1_tlb_miss_l2_tlb_miss.all")
    return {
        "tlb_data_l1_misses_pki": per_thousand * misses, "tlb_data_walks_pki": per_thousand * walks,
        "tlb_data_l2_miss_ratio": walks / misses,
        "tlb_data_walks_4k_pki": per_thousand * r("ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss"),
        "tlb_code_walks_pki": per_thousand * code_walks,
        "tlb_code_l1_misses_pki": per_thousand * (r("bp_l1_tlb_miss_l2_tlb_hit") + code_walks),
    }


def arm_translation(r):
    per_thousand = 1000 / r("INST_RETIRED")
    return {
        "tlb_data_l1_misses_pki": per_thousand * r("L1D_TLB_REFILL"), "tlb_data_l2_misses_pki": per_thousand * r("L2D_TLB_REFILL"),
        "tlb_data_l2_miss_ratio": r("L2D_TLB_REFILL") / r("L2D_TLB"), "tlb_data_walks_pki": per_thousand * r("DTLB_WALK"),
        "tlb_data_walk_ratio": r("DTLB_WALK") / r("L1D_TLB"), "tlb_code_l1_misses_pki": per_thousand * r("L1I_TLB_REFILL"),
        "tlb_code_walks_pki": per_thousand * r("ITLB_WALK"),
    }


FORMULAS = {"cascadelake": cascadelake, "cascadelake_smt": cascadelake_smt, "icelake": icelake, "golden_cove": golden_cove,
            "golden_cove_fallback": golden_cove_fallback, "gracemont": gracemont, "zen4": zen4, "zen3": zen3,
            "neoverse_n1": neoverse_n1, "neoverse_n2": neoverse_n2, "hip08": hip08}
TRANSLATION = {"cascadelake": intel_translation, "icelake": intel_translation, "golden_cove": intel_translation,
               "zen4": zen4_translation, "zen3": zen3_translation, "neoverse_n2": arm_translation, "hip08": arm_translation}
