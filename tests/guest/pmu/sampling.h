/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples: an event that is sampled has a timer that fires when its next period is over, as its count is its rate times
 * the time. The weight of a sample holds the event's known latency at retirement. Included by known_pmu.c.
 */
#ifndef KNOWN_PMU_SAMPLING_H
#define KNOWN_PMU_SAMPLING_H

#include <linux/hrtimer.h>
#include <linux/slab.h>

#include <asm/irq_regs.h>

#define SHORTEST_PERIOD_NS 10000ull	/* the emulator is busy with each interrupt for about as long */

/* What is known of an event that is sampled, in its pmu_private. */
struct sampling {
	struct hrtimer timer;
	struct perf_event *event;
	u64 left_ns;		/* of its period, when it was stopped last; 0: a whole one */
	u16 latency;
};

/* The perf core's own, which modules are not given. */
static int (*take_sample)(struct perf_event *, struct perf_sample_data *, struct pt_regs *);

static int max_precise_of(const struct pmu_kind *k)
{
	return precise ? k->max_precise : 0;
}

static u64 period_ns(struct perf_event *event)
{
	return max(SHORTEST_PERIOD_NS, mul_u64_u64_div_u64(event->hw.sample_period, 1000000, event->hw.config_base));
}

static enum hrtimer_restart period_over(struct hrtimer *timer)
{
	struct sampling *s = container_of(timer, struct sampling, timer);
	struct perf_event *event = s->event;
	struct pt_regs *regs = get_irq_regs();
	struct perf_sample_data data;

	if (event->hw.state & PERF_HES_STOPPED)
		return HRTIMER_NORESTART;
	known_update(event);
	/* What counts in user mode alone does not overflow in the kernel. */
	if (event->attr.exclude_kernel && regs && !user_mode(regs)) {
		s->left_ns = 0;
		hrtimer_forward_now(timer, ns_to_ktime(period_ns(event)));
		return HRTIMER_RESTART;
	}
	perf_sample_data_init(&data, 0, event->hw.last_period);
	data.weight.full = 0;
	data.weight.var3_w = s->latency;
	data.sample_flags |= PERF_SAMPLE_WEIGHT_TYPE;
	s->left_ns = 0;
	if (take_sample(event, &data, regs ? regs : task_pt_regs(current))) {
		known_stop(event, 0);	/* too many samples: the core starts it again */
		return HRTIMER_NORESTART;
	}
	if (event->hw.state & PERF_HES_STOPPED)
		return HRTIMER_NORESTART;
	event->hw.last_period = event->hw.sample_period;
	hrtimer_forward_now(timer, ns_to_ktime(period_ns(event)));
	return HRTIMER_RESTART;
}

static void start_sampling(struct perf_event *event)
{
	struct sampling *s = event->pmu_private;

	if (!s || !event->hw.config_base)
		return;
	if (!s->left_ns)
		event->hw.last_period = event->hw.sample_period;
	hrtimer_start(&s->timer, ns_to_ktime(s->left_ns ? s->left_ns : period_ns(event)), HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop_sampling(struct perf_event *event)
{
	struct sampling *s = event->pmu_private;

	/* It may be the timer's own function that stops it. */
	if (s && hrtimer_try_to_cancel(&s->timer) == 1)
		s->left_ns = max_t(s64, 1, ktime_to_ns(hrtimer_get_remaining(&s->timer)));
}

static void destroy_sampling(struct perf_event *event)
{
	struct sampling *s = event->pmu_private;

	hrtimer_cancel(&s->timer);
	kfree(s);
}

/* Last of an event's checks, as what it allocates is freed with the event. */
static int init_sampling(struct perf_event *event, u64 config, u64 config1)
{
	struct sampling *s;
	int found;

	if (!is_sampling_event(event))
		return 0;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	found = find_entry(&known_latencies, config, config1);
	s->event = event;
	s->latency = found < 0 ? 0 : known_latencies.entries[found].value;
	hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	s->timer.function = period_over;
	event->pmu_private = s;
	event->destroy = destroy_sampling;
	return 0;
}

static int find_take_sample(void)
{
	struct kprobe probe = { .symbol_name = "perf_event_overflow" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	take_sample = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

#endif
