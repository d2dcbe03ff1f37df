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

/* One PMU and what is counting on it, per CPU. */
struct cpu_state {
	u64 frozen_ns;		/* the time for all events while the PMU is disabled or a group is read */
	int frozen;		/* how deep */
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
static struct keyed_table failures;

#define to_known(p) container_of(p, struct known_pmu, pmu)

/* ---- parameters ---- */

static int parse_table(char *text, struct keyed_table *table)
{
	char *item, *key, *config1;

	table->count = 0;
	while ((item = strsep(&text, ",")) != NULL) {
		struct keyed_value *entry = &table->entries[table->count];

		item = strim(item);
		if (!*item)
			continue;
		if (table->count == EVENTS_MAX)
			return -E2BIG;
		key = strsep(&item, ":");
		if (!item || kstrtoull(item, 0, &entry->value))
			return -EINVAL;
		config1 = key;
		key = strsep(&config1, "/");
		entry->config1 = 0;
		if (kstrtoull(key, 0, &entry->config) ||
		    (config1 && kstrtoull(config1, 0, &entry->config1)))
			return -EINVAL;
		table->count++;
	}
	return 0;
}

static int find_entry(const struct keyed_table *table, u64 config, u64 config1)
{
	int i;

	for (i = 0; i < table->count; i++)
		if (table->entries[i].config == config && table->entries[i].config1 == config1)
			return i;
	return -1;
}

/* ---- which events fit together ---- */

static bool is_slots(const struct pmu_kind *k, u64 config)
{
	return k->metric_events && config == SLOTS_CONFIG;
}

static bool is_metric(const struct pmu_kind *k, u64 config)
{
	return metrics && k->metric_events && (config & 0xff) == 0 && config >= FIRST_METRIC_CONFIG &&
	       config < FIRST_METRIC_CONFIG + 0x100ull * k->metric_events && !(config & ~0xffffull);
}

/* Bit mask of the counters an event may use: general-purpose from bit 0, fixed ones from FIXED_BASE. */
static u64 allowed_counters(const struct known_pmu *known, u64 config)
{
	const struct pmu_kind *k = known->kind;
	u64 general = (1ull << known->general) - 1, mask = general;
	const struct constraint *c;
	int i;

	for (c = k->constraints; c && c->last; c++) {
		u64 code = config & c->match;

		if (code >= c->first && code <= c->last) {
			mask = c->counters & general;
			break;
		}
	}
	for (i = 0; i < k->fixed_count; i++) {
		if (k->fixed[i].config == config) {
			if (k->fixed[i].fixed_only)
				mask = 0;
			mask |= 1ull << (FIXED_BASE + k->fixed[i].counter);
		}
	}
	return mask;
}

static bool place(int event, const u64 *allowed, int *owner, u64 *tried)
{
	int counter;

	for (counter = 0; counter < FIXED_BASE + FIXED_MAX; counter++) {
		u64 bit = 1ull << counter;

		if (!(allowed[event] & bit) || (*tried & bit))
			continue;
		*tried |= bit;
		if (owner[counter] < 0 || place(owner[counter], allowed, owner, tried)) {
			owner[counter] = event;
			return true;
		}
	}
	return false;
}

/* Whether the events (NULLs among them are skipped) can count at the same time: a matching of events to counters. */
static bool fits(const struct known_pmu *known, struct perf_event **events, int count, bool empty)
{
	u64 allowed[ACTIVE_MAX + 2], general = (1ull << known->general) - 1;
	const struct pmu_kind *k = known->kind;
	int owner[FIXED_BASE + FIXED_MAX], i, wanted = 0;

	if (watchdog && !empty)
		allowed[wanted++] = k->watchdog_fixed ? 1ull << (FIXED_BASE + k->watchdog_fixed - 1) : general;
	for (i = 0; i < count; i++) {
		u64 config;

		if (!events[i] || is_metric(k, events[i]->hw.config))
			continue;	/* a metric lives in PERF_METRICS beside the slots counter */
		if (wanted > ACTIVE_MAX - 1)
			return false;
		config = events[i]->hw.config;
		allowed[wanted++] = allowed_counters(known, config);
		if (k->paired_config && (config & 0xf000000ffull) == k->paired_config)
			allowed[wanted++] = general;
	}
	memset(owner, -1, sizeof(owner));
	for (i = 0; i < wanted; i++) {
		u64 tried = 0;

		if (!place(i, allowed, owner, &tried))
			return false;
	}
	return true;
}

/* ---- counting ---- */

static u64 pmu_time(const struct cpu_state *s)
{
	return s->frozen ? s->frozen_ns : ktime_get_mono_fast_ns();
}

static void freeze(struct cpu_state *s)
{
	s->frozen_ns = pmu_time(s);
	s->frozen++;
}

/* What the event's counter would show after `ns` of this PMU's time. */
static u64 count_at(const struct perf_event *event, u64 ns)
{
	u64 rate = event->hw.config_base;

	if (wave_ms) {
		u64 period = wave_ms * 1000000ull, phase, bulge;

		div64_u64_rem(ns, period, &phase);
		bulge = (phase < period / 2 ? phase : period - phase) * wave_percent / 100;
		ns = event->hw.idx & 1 ? ns + bulge : ns + period - bulge;
	}
	return mul_u64_u64_div_u64(ns, rate, 1000000);
}

static void known_update(struct perf_event *event)
{
	struct cpu_state *s = this_cpu_ptr(to_known(event->pmu)->state);
	u64 now = count_at(event, pmu_time(s));

	local64_add(now - local64_read(&event->hw.prev_count), &event->count);
	local64_set(&event->hw.prev_count, now);
}

static void known_read(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		known_update(event);
}

static void known_start(struct perf_event *event, int flags)
{
	struct cpu_state *s = this_cpu_ptr(to_known(event->pmu)->state);

	local64_set(&event->hw.prev_count, count_at(event, pmu_time(s)));
	event->hw.state = 0;
	perf_event_update_userpage(event);
}

static void known_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	known_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int known_add(struct perf_event *event, int flags)
{
	struct known_pmu *known = to_known(event->pmu);
	struct cpu_state *s = this_cpu_ptr(known->state);
	int free;

	for (free = 0; free < ACTIVE_MAX && s->active[free]; free++)
		;
	if (free == ACTIVE_MAX)
		return -EAGAIN;
	s->active[free] = event;
	if (!fits(known, s->active, ACTIVE_MAX, false)) {
		s->active[free] = NULL;
		return -EAGAIN;
	}
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		known_start(event, flags);
	return 0;
}

static void known_del(struct perf_event *event, int flags)
{
	struct cpu_state *s = this_cpu_ptr(to_known(event->pmu)->state);
	int i;

	known_stop(event, PERF_EF_UPDATE);
	for (i = 0; i < ACTIVE_MAX; i++)
		if (s->active[i] == event)
			s->active[i] = NULL;
	perf_event_update_userpage(event);
}

/*
 * The perf core brackets every change of what counts with disable and enable. All that happens between them happens at
 * one instant: events start and stop together, and the time the slow emulator takes for the change itself, which real
 * hardware spends in a microsecond, is not lost to the incoming events.
 */
static void known_disable(struct pmu *pmu)
{
	freeze(this_cpu_ptr(to_known(pmu)->state));
}

static void known_enable(struct pmu *pmu)
{
	this_cpu_ptr(to_known(pmu)->state)->frozen--;
}

static void known_start_txn(struct pmu *pmu, unsigned int flags)
{
	struct cpu_state *s = this_cpu_ptr(to_known(pmu)->state);

	s->reading_group = flags & PERF_PMU_TXN_READ;
	if (s->reading_group)
		freeze(s);
}

static int known_commit_txn(struct pmu *pmu)
{
	struct cpu_state *s = this_cpu_ptr(to_known(pmu)->state);

	if (s->reading_group)
		s->frozen--;
	s->reading_group = false;
	return 0;
}

static void known_cancel_txn(struct pmu *pmu)
{
	known_commit_txn(pmu);
}

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
	if (has_branch_stack(event))
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
	return validate_group(known, event) ? 0 : -EINVAL;
}

static int known_filter_match(struct perf_event *event)
{
	return cpumask_test_cpu(smp_processor_id(), &to_known(event->pmu)->cpus);
}

#include "user_read.h"
#include "sysfs.h"

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
		.capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_HETEROGENEOUS_CPUS | k->capabilities,
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
	if (parse_table(errors, &failures)) {
		pr_err("unreadable errors\n");
		return -EINVAL;
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
