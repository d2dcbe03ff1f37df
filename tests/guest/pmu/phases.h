/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that goes from one kind of work to another: it writes 1 or 0 to the parameter "other", and all that counts
 * on its CPU goes on at other rates. Included by known_pmu.c.
 */
#ifndef KNOWN_PMU_PHASES_H
#define KNOWN_PMU_PHASES_H

/* Rates by either table; of the second PMU of a hybrid, there is one alone. An event that the second table lacks goes on. */
static u64 rate_now(const struct perf_event *event)
{
	int found = other ? find_entry(&others, event->hw.config, event->attr.config1) : -1;

	return found < 0 ? event->hw.config_base : others.entries[found].value;
}

static int set_other(const char *text, const struct kernel_param *parameter)
{
	struct cpu_state *s;
	unsigned long flags;
	int wanted, i, err = kstrtoint(text, 0, &wanted);

	if (err)
		return err;
	local_irq_save(flags);
	s = pmus[0].state ? this_cpu_ptr(pmus[0].state) : NULL;
	freeze();
	for (i = 0; s && i < ACTIVE_MAX; i++)
		if (s->active[i] && !(s->active[i]->hw.state & PERF_HES_STOPPED))
			known_update(s->active[i]);
	other = wanted;
	for (i = 0; s && i < ACTIVE_MAX; i++) {
		struct perf_event *event = s->active[i];

		if (!event || (event->hw.state & PERF_HES_STOPPED))
			continue;
		local64_set(&event->hw.prev_count, count_at(event, pmu_time()));
		perf_event_update_userpage(event);
	}
	thaw();
	local_irq_restore(flags);
	return 0;
}

static const struct kernel_param_ops other_ops = { .set = set_other, .get = param_get_int };

#endif
