/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kinds of PMU: counters, constraints and sysfs texts, as the kernel's own drivers present them.
 *
 * A kind that appears twice is a hybrid machine: its first entry owns every CPU but atom_cpu, its second that one.
 */
#ifndef KNOWN_PMU_KINDS_H
#define KNOWN_PMU_KINDS_H

#define COUNTERS_MAX 16		/* general-purpose ones */
#define FIXED_MAX 5
#define FIXED_BASE 32		/* bit of the first fixed counter in a counter mask */
#define SLOTS_CONFIG 0x400
#define FIRST_METRIC_CONFIG 0x8000
#define GENERIC_CACHE (1ull << 32)	/* marks an id of PERF_TYPE_HW_CACHE in the generic tables */

struct text {
	const char *name, *value;
};

struct constraint {
	u64 first, last, match, counters;	/* (config & match) in first..last may use these counters */
};

struct fixed_event {
	u64 config;
	int counter;
	bool fixed_only;			/* no general-purpose counter can count it */
};

struct generic_event {
	u64 id, config;
};

struct pmu_kind {
	const char *kind;		/* the module's parameter */
	const char *pmu_name;		/* in sysfs */
	bool dynamic_type;		/* else PERF_TYPE_RAW */
	int capabilities;
	int general;
	const struct fixed_event *fixed;
	int fixed_count;
	int watchdog_fixed;		/* 1 + the fixed counter that the watchdog's cycles event takes; 0: a general one */
	int metric_events;		/* topdown events in PERF_METRICS: 0, 4 or 8 */
	u64 paired_config;		/* event code that takes two counters */
	u64 config_mask, config1_mask;
	const struct constraint *constraints;
	const struct generic_event *generic;
	int generic_count;
	const struct text *formats, *events, *caps;
	int max_precise;		/* caps/max_precise; 0: the PMU takes no samples */
	bool shows_cpus;		/* a `cpus` file, as heterogeneous PMUs have */
	bool shows_slots;		/* caps/slots from the module's parameter */
};

#define CODE 0xffull			/* constraint on the event code alone */
#define CODE_UMASK 0xffffull

/* ---- Intel ---- */

#define INTEL_CONFIG_MASK 0x3ffa4ffffull	/* event, umask, edge, any, inv, cmask, in_tx, in_tx_cp */

#define CACHE(cache, op, result) (GENERIC_CACHE | (cache) | (op) << 8 | (result) << 16)

static const struct generic_event intel_generic[] = {
	{ PERF_COUNT_HW_CPU_CYCLES, 0x3c }, { PERF_COUNT_HW_INSTRUCTIONS, 0xc0 },
	{ PERF_COUNT_HW_CACHE_REFERENCES, 0x4f2e }, { PERF_COUNT_HW_CACHE_MISSES, 0x412e },
	{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0xc4 }, { PERF_COUNT_HW_BRANCH_MISSES, 0xc5 },
	{ PERF_COUNT_HW_BUS_CYCLES, 0x13c }, { PERF_COUNT_HW_REF_CPU_CYCLES, 0x300 },
	{ CACHE(0, 0, 0), 0x81d0 }, { CACHE(0, 0, 1), 0x151 },		/* L1-dcache-loads, -load-misses */
	{ CACHE(3, 0, 0), 0x81d0 }, { CACHE(3, 0, 1), 0xe08 },		/* dTLB-loads, -load-misses */
};

static const struct fixed_event skylake_fixed[] = {
	{ 0xc0, 0 }, { 0x3c, 1 }, { 0x300, 2, true },
};

static const struct fixed_event icelake_fixed[] = {
	{ 0xc0, 0 }, { 0x3c, 1 }, { 0x300, 2, true }, { SLOTS_CONFIG, 3, true }, { 0x100, 0, true },
};

static const struct constraint skylake_constraints[] = {
	{ 0x1c0, 0x1c0, CODE_UMASK, 0x2 }, { 0xd0, 0xd2, CODE, 0xf }, { 0xcd, 0xcd, CODE, 0xf },
	{ 0xc6, 0xc6, CODE, 0xf }, { }
};

static const struct constraint icelake_constraints[] = {
	{ 0x03, 0x0a, CODE, 0xf }, { 0x1f, 0x28, CODE, 0xf }, { 0x32, 0x32, CODE, 0xf }, { 0x48, 0x56, CODE, 0xf },
	{ 0x60, 0x8b, CODE, 0xf }, { 0x4a3, 0x4a3, CODE_UMASK, 0xff }, { 0x10a3, 0x10a3, CODE_UMASK, 0xff },
	{ 0x14a3, 0x14a3, CODE_UMASK, 0xff }, { 0xa3, 0xa3, CODE, 0xf }, { 0xa8, 0xb0, CODE, 0xf },
	{ 0xb7, 0xbd, CODE, 0xf }, { 0xd0, 0xe6, CODE, 0xf }, { 0xef, 0xef, CODE, 0xf }, { 0xf0, 0xf4, CODE, 0xf }, { }
};

static const struct constraint golden_cove_constraints[] = {
	{ 0x2e, 0x2e, CODE, 0xff }, { 0x3c, 0x3c, CODE, 0xff }, { 0x01, 0x8f, CODE, 0xf },
	{ 0x1a3, 0x1a3, CODE_UMASK, 0xf }, { 0x2a3, 0x2a3, CODE_UMASK, 0xf }, { 0x8a3, 0x8a3, CODE_UMASK, 0xf },
	{ 0x4a4, 0x4a4, CODE_UMASK, 0x1 }, { 0x8a4, 0x8a4, CODE_UMASK, 0x1 }, { 0x2cd, 0x2cd, CODE_UMASK, 0x1 },
	{ 0xce, 0xce, CODE, 0x1 }, { 0xd0, 0xdf, CODE, 0xf }, { }
};

static const struct text skylake_formats[] = {
	{ "event", "config:0-7" }, { "umask", "config:8-15" }, { "edge", "config:18" }, { "pc", "config:19" },
	{ "any", "config:21" }, { "inv", "config:23" }, { "cmask", "config:24-31" }, { "in_tx", "config:32" },
	{ "in_tx_cp", "config:33" }, { "offcore_rsp", "config1:0-63" }, { "ldlat", "config1:0-15" },
	{ "frontend", "config1:0-23" }, { }
};

static const struct text icelake_formats[] = {
	{ "event", "config:0-7" }, { "umask", "config:8-15" }, { "edge", "config:18" }, { "pc", "config:19" },
	{ "inv", "config:23" }, { "cmask", "config:24-31" }, { "in_tx", "config:32" }, { "in_tx_cp", "config:33" },
	{ "offcore_rsp", "config1:0-63" }, { "ldlat", "config1:0-15" }, { "frontend", "config1:0-23" }, { }
};

#define INTEL_COMMON_EVENTS \
	{ "cpu-cycles", "event=0x3c" }, { "instructions", "event=0xc0" }, \
	{ "cache-references", "event=0x2e,umask=0x4f" }, { "cache-misses", "event=0x2e,umask=0x41" }, \
	{ "branch-instructions", "event=0xc4" }, { "branch-misses", "event=0xc5" }, \
	{ "bus-cycles", "event=0x3c,umask=0x01" }, { "ref-cycles", "event=0x00,umask=0x03" }

#define INTEL_METRIC_EVENTS \
	{ "slots", "event=0x00,umask=0x4" }, { "topdown-retiring", "event=0x00,umask=0x80" }, \
	{ "topdown-bad-spec", "event=0x00,umask=0x81" }, { "topdown-fe-bound", "event=0x00,umask=0x82" }, \
	{ "topdown-be-bound", "event=0x00,umask=0x83" }

static const struct text skylake_events[] = {
	INTEL_COMMON_EVENTS,
	{ "topdown-slots-issued", "event=0xe,umask=0x1" }, { "topdown-slots-retired", "event=0xc2,umask=0x2" },
	{ "topdown-fetch-bubbles", "event=0x9c,umask=0x1" }, { "topdown-total-slots", "event=0x3c,umask=0x0" },
	{ "topdown-total-slots.scale", "4" }, { "topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1" },
	{ "topdown-recovery-bubbles.scale", "4" }, { }
};

static const struct text icelake_events[] = { INTEL_COMMON_EVENTS, INTEL_METRIC_EVENTS, { } };

static const struct text golden_cove_events[] = {
	INTEL_COMMON_EVENTS, INTEL_METRIC_EVENTS,
	{ "topdown-heavy-ops", "event=0x00,umask=0x84" }, { "topdown-br-mispredict", "event=0x00,umask=0x85" },
	{ "topdown-fetch-lat", "event=0x00,umask=0x86" }, { "topdown-mem-bound", "event=0x00,umask=0x87" }, { }
};

static const struct text skylake_caps[] = { { "branches", "32" }, { "pmu_name", "skylake" }, { } };
static const struct text icelake_caps[] = { { "branches", "32" }, { "pmu_name", "icelake" }, { } };
static const struct text sapphire_caps[] = {
	{ "branches", "32" }, { "pmu_name", "sapphire_rapids" }, { }
};
static const struct text alder_caps[] = {
	{ "branches", "32" }, { "pmu_name", "alderlake_hybrid" }, { }
};

static const struct text gracemont_formats[] = {
	{ "event", "config:0-7" }, { "umask", "config:8-15" }, { "edge", "config:18" }, { "pc", "config:19" },
	{ "inv", "config:23" }, { "cmask", "config:24-31" }, { "offcore_rsp", "config1:0-63" }, { "ldlat", "config1:0-15" },
	{ }
};

static const struct text gracemont_events[] = {
	INTEL_COMMON_EVENTS,
	{ "topdown-retiring", "event=0xc2,umask=0x0" }, { "topdown-bad-spec", "event=0x73,umask=0x0" },
	{ "topdown-fe-bound", "event=0x71,umask=0x0" }, { "topdown-be-bound", "event=0x74,umask=0x0" }, { }
};

/* ---- AMD ---- */

#define AMD_CONFIG_MASK 0xfff84ffffull	/* event with its upper four bits, umask, edge, inv, cmask */

static const struct generic_event zen_generic[] = {
	{ PERF_COUNT_HW_CPU_CYCLES, 0x76 }, { PERF_COUNT_HW_INSTRUCTIONS, 0xc0 },
	{ PERF_COUNT_HW_CACHE_REFERENCES, 0xff60 }, { PERF_COUNT_HW_CACHE_MISSES, 0x964 },
	{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0xc2 }, { PERF_COUNT_HW_BRANCH_MISSES, 0xc3 },
	{ PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 0xa9 },
	{ CACHE(0, 0, 0), 0x40 }, { CACHE(0, 0, 1), 0xc860 },		/* L1-dcache-loads, -load-misses */
	{ CACHE(3, 0, 0), 0xff45 }, { CACHE(3, 0, 1), 0xf045 },		/* dTLB-loads, -load-misses */
};

static const struct text zen_formats[] = {
	{ "event", "config:0-7,32-35" }, { "umask", "config:8-15" }, { "edge", "config:18" }, { "inv", "config:23" },
	{ "cmask", "config:24-31" }, { }
};

static const struct text zen_events[] = {
	{ "cpu-cycles", "event=0x76" }, { "instructions", "event=0xc0" },
	{ "cache-references", "event=0x60,umask=0xff" }, { "cache-misses", "event=0x64,umask=0x09" },
	{ "branch-instructions", "event=0xc2" }, { "branch-misses", "event=0xc3" },
	{ "stalled-cycles-frontend", "event=0xa9" }, { }
};

/* ---- Arm ---- */

static const struct generic_event armv8_generic[] = {
	{ PERF_COUNT_HW_CPU_CYCLES, 0x11 }, { PERF_COUNT_HW_INSTRUCTIONS, 0x08 }, { PERF_COUNT_HW_CACHE_REFERENCES, 0x04 },
	{ PERF_COUNT_HW_CACHE_MISSES, 0x03 }, { PERF_COUNT_HW_BRANCH_MISSES, 0x10 },
	{ PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 0x23 }, { PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 0x24 },
	{ CACHE(3, 0, 0), 0x25 }, { CACHE(3, 0, 1), 0x05 },
};

static const struct fixed_event armv8_fixed[] = { { 0x11, 0 } };

static const struct text armv8_formats[] = {
	{ "event", "config:0-15" }, { "long", "config1:0" }, { "rdpmc", "config1:1" }, { }
};

static const struct text armv8_events[] = {
	{ "cpu_cycles", "event=0x0011" }, { "inst_retired", "event=0x0008" }, { "inst_spec", "event=0x001b" },
	{ "br_mis_pred", "event=0x0010" }, { "l1d_tlb", "event=0x0025" }, { "l1d_tlb_refill", "event=0x0005" },
	{ "l2d_tlb_refill", "event=0x002d" }, { "dtlb_walk", "event=0x0034" }, { "stall_frontend", "event=0x0023" },
	{ "stall_backend", "event=0x0024" }, { "op_retired", "event=0x003a" }, { "op_spec", "event=0x003b" },
	{ "stall", "event=0x003c" }, { "stall_slot_backend", "event=0x003d" },
	{ "stall_slot_frontend", "event=0x003e" }, { "stall_slot", "event=0x003f" }, { }
};

static const struct text armv8_caps[] = { { "bus_slots", "0x00000000" }, { "bus_width", "0x00000000" }, { } };

/* ---- the kinds ---- */

#define GENERIC(table) .generic = table, .generic_count = ARRAY_SIZE(table)
#define FIXED(table) .fixed = table, .fixed_count = ARRAY_SIZE(table)
#define INTEL .max_precise = 3, .config_mask = INTEL_CONFIG_MASK, .config1_mask = ~0ull, GENERIC(intel_generic)

static const struct pmu_kind pmu_kinds[] = {
	{ .kind = "skylake", .pmu_name = "cpu", .general = 4, FIXED(skylake_fixed), .watchdog_fixed = 2, INTEL,
	  .constraints = skylake_constraints, .formats = skylake_formats, .events = skylake_events, .caps = skylake_caps },
	{ .kind = "icelake", .pmu_name = "cpu", .general = 8, FIXED(icelake_fixed), .watchdog_fixed = 2, INTEL,
	  .metric_events = 4, .constraints = icelake_constraints, .formats = icelake_formats, .events = icelake_events,
	  .caps = icelake_caps },
	{ .kind = "sapphire_rapids", .pmu_name = "cpu", .general = 8, FIXED(icelake_fixed), .watchdog_fixed = 2, INTEL,
	  .metric_events = 8, .constraints = golden_cove_constraints, .formats = icelake_formats,
	  .events = golden_cove_events, .caps = sapphire_caps },
	{ .kind = "zen4", .pmu_name = "cpu", .general = 6, .paired_config = 0x3, .config_mask = AMD_CONFIG_MASK,
	  GENERIC(zen_generic), .formats = zen_formats, .events = zen_events },
	{ .kind = "zen3", .pmu_name = "cpu", .general = 6, .paired_config = 0x3, .config_mask = AMD_CONFIG_MASK,
	  GENERIC(zen_generic), .formats = zen_formats, .events = zen_events },
	{ .kind = "hybrid", .pmu_name = "cpu_core", .capabilities = PERF_PMU_CAP_EXTENDED_HW_TYPE, .general = 8,
	  FIXED(icelake_fixed), .watchdog_fixed = 2, INTEL, .metric_events = 8, .constraints = golden_cove_constraints,
	  .formats = icelake_formats, .events = golden_cove_events, .caps = alder_caps, .shows_cpus = true },
	{ .kind = "hybrid", .pmu_name = "cpu_atom", .dynamic_type = true, .capabilities = PERF_PMU_CAP_EXTENDED_HW_TYPE,
	  .general = 6, FIXED(skylake_fixed), .watchdog_fixed = 2, INTEL, .formats = gracemont_formats,
	  .events = gracemont_events, .caps = alder_caps, .shows_cpus = true },
	{ .kind = "armv8", .pmu_name = "armv8_pmuv3_0", .dynamic_type = true, .general = 6, FIXED(armv8_fixed),
	  .config_mask = 0xffff, GENERIC(armv8_generic), .formats = armv8_formats, .events = armv8_events,
	  .caps = armv8_caps, .shows_cpus = true, .shows_slots = true },
};

#endif
