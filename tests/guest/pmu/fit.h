/* SPDX-License-Identifier: GPL-2.0 */
/* Which events can count at the same time, by the counters and constraints of the kind. Included by known_pmu.c. */
#ifndef KNOWN_PMU_FIT_H
#define KNOWN_PMU_FIT_H

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

#endif
