/* SPDX-License-Identifier: GPL-2.0 */
/* Counts from rates and time, and the callbacks that start, stop and read events. Included by known_pmu.c. */
#ifndef KNOWN_PMU_COUNTING_H
#define KNOWN_PMU_COUNTING_H

static u64 pmu_time(void)
{
	const struct cpu_time *t = this_cpu_ptr(&cpu_time);

	return t->frozen ? t->frozen_ns : ktime_get_mono_fast_ns();
}

static void freeze(void)
{
	u64 now = pmu_time();

	__this_cpu_write(cpu_time.frozen_ns, now);
	__this_cpu_inc(cpu_time.frozen);
}

static void thaw(void)
{
	__this_cpu_dec(cpu_time.frozen);
}

static u64 rate_now(const struct perf_event *event);

/* What the event's counter would show after `ns` of this PMU's time. */
static u64 count_at(const struct perf_event *event, u64 ns)
{
	u64 rate = rate_now(event);

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
	u64 now = count_at(event, pmu_time());

	local64_add(now - local64_read(&event->hw.prev_count), &event->count);
	local64_set(&event->hw.prev_count, now);
}

static void known_read(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		known_update(event);
}

static void start_sampling(struct perf_event *event);
static void stop_sampling(struct perf_event *event);

static void known_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, count_at(event, pmu_time()));
	event->hw.state = 0;
	start_sampling(event);
	perf_event_update_userpage(event);
}

static void known_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	known_update(event);
	stop_sampling(event);
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
	freeze();
}

static void known_enable(struct pmu *pmu)
{
	thaw();
}

static void known_start_txn(struct pmu *pmu, unsigned int flags)
{
	struct cpu_state *s = this_cpu_ptr(to_known(pmu)->state);

	s->reading_group = flags & PERF_PMU_TXN_READ;
	if (s->reading_group)
		freeze();
}

static int known_commit_txn(struct pmu *pmu)
{
	struct cpu_state *s = this_cpu_ptr(to_known(pmu)->state);

	if (s->reading_group)
		thaw();
	s->reading_group = false;
	return 0;
}

static void known_cancel_txn(struct pmu *pmu)
{
	known_commit_txn(pmu);
}

#endif
