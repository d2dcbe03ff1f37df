// SPDX-License-Identifier: GPL-2.0
/*
 * known_pmu: performance monitoring units whose every count is known in advance.
 *
 * Registers the PMU of a chosen processor kind with the kernel's perf core, in a guest whose emulator has none. An
 * event counts rate x time while it is scheduled, so every metric has one right answer; grouping, multiplexing, refusing
 * and pinning are done by the real perf core on the counters, constraints and failures described here.
 *
 *   insmod known_pmu.ko kind=zen4 rates=0x76:4000000,0xc1:6312000 [counters=N] [watchdog=1] ...
 *
 * Event keys in parameters are perf's config word, with "/0xN" behind it where config1 matters; rates are counts per
 * millisecond. An event without a rate reads 0, as an undefined event does on hardware, and is logged once.
 */
#define pr_fmt(text) KBUILD_MODNAME ": " text

#include <linux/device.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "kinds.h"

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Performance monitoring units with known rates, for tests");

#define TEXT_MAX 12288

static char rates[TEXT_MAX];
module_param_string(rates, rates, sizeof(rates), 0444);
MODULE_PARM_DESC(rates, "CONFIG[/CONFIG1]:COUNTS_PER_MS,... of the first PMU");
static char atom_rates[TEXT_MAX];
module_param_string(atom_rates, atom_rates, sizeof(atom_rates), 0444);
MODULE_PARM_DESC(atom_rates, "the same for the second PMU of a hybrid machine");
static char other_rates[TEXT_MAX];
module_param_string(other_rates, other_rates, sizeof(other_rates), 0444);
MODULE_PARM_DESC(other_rates, "the same for the first PMU, while the parameter 'other' is 1");
static const struct kernel_param_ops other_ops;
static int other;
module_param_cb(other, &other_ops, &other, 0644);
MODULE_PARM_DESC(other, "1: events that are counted on this CPU now, and from now on, have other_rates");
static char errors[TEXT_MAX];
module_param_string(errors, errors, sizeof(errors), 0444);
MODULE_PARM_DESC(errors, "CONFIG[/CONFIG1]:ERRNO,... events whose open fails so");
static char *kind = "zen4";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "which processor: see kinds.h");
static int counters;
module_param(counters, int, 0444);
MODULE_PARM_DESC(counters, "number of general-purpose counters, 0: the kind's own");
static bool watchdog;
module_param(watchdog, bool, 0444);
MODULE_PARM_DESC(watchdog, "a pinned cycles event holds one counter of every CPU");
static bool metrics = true;
module_param(metrics, bool, 0444);
MODULE_PARM_DESC(metrics, "offer PERF_METRICS (topdown events) where the kind has it");
static int rdpmc = 1;
module_param(rdpmc, int, 0444);
MODULE_PARM_DESC(rdpmc, "user-space reads: 0 never, 1 while mapped, 2 always");
static int atom_cpu = 1;
module_param(atom_cpu, int, 0444);
MODULE_PARM_DESC(atom_cpu, "the CPU that belongs to the second PMU of a hybrid machine");
static int wave_ms;
module_param(wave_ms, int, 0444);
MODULE_PARM_DESC(wave_ms, "period of a wave on the rates, 0: constant rates");
static int wave_percent = 30;
module_param(wave_percent, int, 0444);
MODULE_PARM_DESC(wave_percent, "depth of that wave; every second event has the opposite sign");
static int user_percent = 100;
module_param(user_percent, int, 0444);
MODULE_PARM_DESC(user_percent, "share of every count that belongs to user mode");
static bool uncore;
module_param(uncore, bool, 0444);
MODULE_PARM_DESC(uncore, "offer PMUs of the machine too: memory controllers and power, see uncore.h");
static char latencies[TEXT_MAX];
module_param_string(latencies, latencies, sizeof(latencies), 0444);
MODULE_PARM_DESC(latencies, "CONFIG[/CONFIG1]:CYCLES,... latencies at retirement that samples of these events have");
static bool precise = true;
module_param(precise, bool, 0444);
MODULE_PARM_DESC(precise, "take precise samples where the kind does");
static int slots_per_cycle;
module_param(slots_per_cycle, int, 0444);
MODULE_PARM_DESC(slots_per_cycle, "value of caps/slots on Arm");

#define EVENTS_MAX 320
#define ACTIVE_MAX (COUNTERS_MAX * 2)

struct keyed_value {
	u64 config, config1, value;
};

struct keyed_table {
	int count;
	struct keyed_value entries[EVENTS_MAX];
};

/*
 * A CPU's time as its events see it. A hybrid's PMUs share it: of a task's events, which may be of both, the kernel
 * disables the PMU that it saw first, and takes that for the CPU's.
 */
struct cpu_time {
	u64 frozen_ns;		/* the time for all events while a PMU is disabled or a group is read */
	int frozen;		/* how deep */
};

static DEFINE_PER_CPU(struct cpu_time, cpu_time);

/* One PMU and what is counting on it, per CPU. */
struct cpu_state {
	bool reading_group;
	struct perf_event *active[ACTIVE_MAX];	/* with holes: a place is the event's number for user-space reads */
};

struct known_pmu {
	struct pmu pmu;
	const struct pmu_kind *kind;
	struct keyed_table rates;
	cpumask_t cpus;
	int general;		/* general-purpose counters in force */
	bool registered;
	struct cpu_state __percpu *state;
};

static struct known_pmu pmus[2];
static struct keyed_table failures, known_latencies, others;

#define to_known(p) container_of(p, struct known_pmu, pmu)

#include "tables.h"
#include "fit.h"
#include "counting.h"
#include "sampling.h"
#include "phases.h"

/* ---- opening ---- */

static int generic_config(const struct pmu_kind *k, u64 id, u64 *config)
{
	int i;

	for (i = 0; i < k->generic_count; i++) {
		if (k->generic[i].id == id) {
			*config = k->generic[i].config;
			return 0;
		}
	}
	return -ENOENT;
}

static bool validate_group(struct known_pmu *known, struct perf_event *event)
{
	struct perf_event *events[ACTIVE_MAX], *sibling, *leader = event->group_leader;
	int count = 0;

	if (leader->pmu == event->pmu)
		events[count++] = leader;
	if (leader != event) {
		for_each_sibling_event(sibling, leader) {
			if (sibling->pmu != event->pmu || sibling == event)
				continue;
			if (count >= ARRAY_SIZE(events) - 1)
				return false;
			events[count++] = sibling;
		}
		events[count++] = event;
	}
	/* As the real drivers do: validated against an empty PMU, so the watchdog does not show here. */
	return fits(known, events, count, true);
}

static u64 topdown_rate(const struct known_pmu *known, u64 rate)
{
	int slots = find_entry(&known->rates, SLOTS_CONFIG, 0);
	u64 slots_rate = slots < 0 ? 0 : known->rates.entries[slots].value;

	if (!slots_rate)
		return 0;
	/* PERF_METRICS holds eight-bit fractions of the slots. */
	return div64_u64(slots_rate * div64_u64(rate * 255 + slots_rate / 2, slots_rate), 255);
}

static int known_init_event(struct perf_event *event)
{
	struct known_pmu *known = to_known(event->pmu);
	const struct pmu_kind *k = known->kind;
	u64 config = event->attr.config, config1 = event->attr.config1 & k->config1_mask, type = event->attr.type;
	int found;

	if (type == PERF_TYPE_HARDWARE) {
		if (generic_config(k, config & 0xffffffffull, &config))
			return -ENOENT;
	} else if (type == PERF_TYPE_HW_CACHE) {
		if (generic_config(k, (config & 0xffffffull) | GENERIC_CACHE, &config))
			return -ENOENT;
	} else if (type == event->pmu->type || type == PERF_TYPE_RAW) {
		config &= k->config_mask;
	} else {
		return -ENOENT;
	}
	if (has_branch_stack(event) || event->attr.precise_ip > max_precise_of(k))
		return -EOPNOTSUPP;
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &known->cpus))
		return -ENOENT;
#ifdef CONFIG_ARM64
	if (event->attr.exclude_idle)
		return -EOPNOTSUPP;
#endif
	found = find_entry(&failures, config, config1);
	if (found >= 0)
		return -(int)failures.entries[found].value;

	event->hw.config = config;
	if (is_slots(k, config) || is_metric(k, config)) {
		if (event->attr.config1 || event->attr.config2)
			return -EINVAL;
	}
	if (is_metric(k, config)) {
		struct perf_event *leader = event->group_leader;

		if (leader == event || leader->pmu != event->pmu || !is_slots(k, leader->hw.config))
			return -EINVAL;
		event->event_caps |= PERF_EV_CAP_SIBLING;
	}

	found = find_entry(&known->rates, config, config1);
	if (found < 0)
		pr_info_once("event without a rate, reads 0: config=0x%llx config1=0x%llx (only the first is logged)\n",
			     config, config1);
	if (!metrics && k->metric_events && (config & 0xff) == 0 && config >= FIRST_METRIC_CONFIG)
		found = -1;	/* without PERF_METRICS it is a meaningless event that counts nothing */
	event->hw.config_base = found < 0 ? 0 : known->rates.entries[found].value;
	event->hw.idx = found & 0xff;
	if (is_metric(k, config))
		event->hw.config_base = topdown_rate(known, event->hw.config_base);
	if (event->attr.exclude_user && event->attr.exclude_kernel)
		event->hw.config_base = 0;
	else if (event->attr.exclude_kernel)
		event->hw.config_base = event->hw.config_base * user_percent / 100;
	else if (event->attr.exclude_user)
		event->hw.config_base = event->hw.config_base * (100 - user_percent) / 100;
	if (rdpmc)
		event->hw.flags |= PERF_EVENT_FLAG_USER_READ_CNT;
	if (!validate_group(known, event))
		return -EINVAL;
	return init_sampling(event, config, config1);
}

static int known_filter_match(struct perf_event *event)
{
	return cpumask_test_cpu(smp_processor_id(), &to_known(event->pmu)->cpus);
}

#include "user_read.h"
#include "sysfs.h"
#include "uncore.h"

/* ---- loading ---- */

static int register_known(struct known_pmu *known, const struct pmu_kind *k, char *rate_text)
{
	int err = parse_table(rate_text, &known->rates);

	if (err) {
		pr_err("unreadable rates\n");
		return err;
	}
	known->kind = k;
	known->general = counters ? min(counters, COUNTERS_MAX) : k->general;
	known->state = alloc_percpu(struct cpu_state);
	if (!known->state)
		return -ENOMEM;
	known->pmu = (struct pmu){
		.module = THIS_MODULE,
		.attr_groups = attribute_groups(k),
		/* HETEROGENEOUS lets the module be loaded again: the perf core counts hardware contexts once and for all. */
		.capabilities = (k->max_precise ? 0 : PERF_PMU_CAP_NO_INTERRUPT) | PERF_PMU_CAP_HETEROGENEOUS_CPUS |
				k->capabilities,
		.task_ctx_nr = perf_hw_context,
		.pmu_enable = known_enable,
		.pmu_disable = known_disable,
		.event_init = known_init_event,
		.add = known_add,
		.del = known_del,
		.start = known_start,
		.stop = known_stop,
		.read = known_read,
		.start_txn = known_start_txn,
		.commit_txn = known_commit_txn,
		.cancel_txn = known_cancel_txn,
		.event_idx = known_event_idx,
		.event_mapped = known_event_mapped,
		.event_unmapped = known_event_unmapped,
		.filter_match = known_filter_match,
	};
	err = perf_pmu_register(&known->pmu, k->pmu_name, k->dynamic_type ? -1 : PERF_TYPE_RAW);
	known->registered = !err;
	return err;
}

static void unregister_all(void)
{
	int i;

	uncore_unregister();
	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		if (pmus[i].registered)
			perf_pmu_unregister(&pmus[i].pmu);
		free_percpu(pmus[i].state);
		pmus[i].state = NULL;
	}
}

static int __init known_init(void)
{
	const struct pmu_kind *first = NULL, *second = NULL;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(pmu_kinds); i++) {
		if (!strcmp(pmu_kinds[i].kind, kind)) {
			if (!first)
				first = &pmu_kinds[i];
			else
				second = &pmu_kinds[i];
		}
	}
	if (!first) {
		pr_err("unknown kind %s\n", kind);
		return -EINVAL;
	}
	if (parse_table(errors, &failures) || parse_table(latencies, &known_latencies) ||
	    parse_table(other_rates, &others)) {
		pr_err("unreadable errors or latencies\n");
		return -EINVAL;
	}
	err = first->max_precise ? find_take_sample() : 0;
	if (err) {
		pr_err("no way to take samples\n");
		return err;
	}
	cpumask_copy(&pmus[0].cpus, cpu_possible_mask);
	if (second) {
		cpumask_clear(&pmus[1].cpus);
		cpumask_set_cpu(atom_cpu, &pmus[1].cpus);
		cpumask_clear_cpu(atom_cpu, &pmus[0].cpus);
	}
	err = register_known(&pmus[0], first, rates);
	if (!err && second)
		err = register_known(&pmus[1], second, atom_rates);
	if (!err && uncore)
		err = uncore_register();
	if (!err)
		err = user_read_start();
	if (err)
		unregister_all();
	return err;
}

static void __exit known_exit(void)
{
	user_read_stop();
	unregister_all();
}

module_init(known_init);
module_exit(known_exit);
