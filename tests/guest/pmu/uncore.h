/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMUs of the machine, not of a core, with known rates (parameter uncore=1): two memory controllers and RAPL. They count
 * from CPU 0 alone, no tasks, and know no privilege levels, as the kernel's own drivers of such PMUs.
 * Included by known_pmu.c.
 */
#ifndef KNOWN_PMU_UNCORE_H
#define KNOWN_PMU_UNCORE_H

#define UNCORE_EVENTS 16

struct uncore_pmu {
	struct pmu pmu;
	const char *name;
	const struct attribute_group **groups;
	u64 rates[UNCORE_EVENTS];	/* counts per ms, by event code; 0: there is no such event */
	bool registered;
};

static struct uncore_pmu uncore_pmus[3];

#define to_uncore(p) container_of(p, struct uncore_pmu, pmu)

static u64 uncore_count(const struct perf_event *event)
{
	return mul_u64_u64_div_u64(ktime_get_mono_fast_ns(), event->hw.config_base, 1000000);
}

static void uncore_read(struct perf_event *event)
{
	u64 now = uncore_count(event);

	local64_add(now - local64_read(&event->hw.prev_count), &event->count);
	local64_set(&event->hw.prev_count, now);
}

static void uncore_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, uncore_count(event));
	event->hw.state = 0;
}

static void uncore_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	uncore_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int uncore_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		uncore_start(event, flags);
	return 0;
}

static void uncore_del(struct perf_event *event, int flags)
{
	uncore_stop(event, PERF_EF_UPDATE);
}

static int uncore_init_event(struct perf_event *event)
{
	struct uncore_pmu *uncore = to_uncore(event->pmu);
	u64 code = event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || is_sampling_event(event) || code >= UNCORE_EVENTS || !uncore->rates[code])
		return -EINVAL;
	event->cpu = 0;
	event->hw.config_base = uncore->rates[code];
	return 0;
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0\n");
}

static DEVICE_ATTR_RO(cpumask);
static struct attribute *uncore_plain[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group uncore_plain_group = { .attrs = uncore_plain };

PMU_FORMAT_ATTR(event, "config:0-7");
static struct attribute *uncore_formats[] = { &format_attr_event.attr, NULL };
static const struct attribute_group uncore_format_group = { .name = "format", .attrs = uncore_formats };

PMU_EVENT_ATTR_STRING(cas_count_read, imc_read, "event=0x4");
PMU_EVENT_ATTR_STRING(cas_count_read.scale, imc_read_scale, "6.103515625e-5");
PMU_EVENT_ATTR_STRING(cas_count_read.unit, imc_read_unit, "MiB");
PMU_EVENT_ATTR_STRING(cas_count_write, imc_write, "event=0x5");
PMU_EVENT_ATTR_STRING(cas_count_write.scale, imc_write_scale, "6.103515625e-5");
PMU_EVENT_ATTR_STRING(cas_count_write.unit, imc_write_unit, "MiB");
static struct attribute *imc_events[] = {
	&imc_read.attr.attr, &imc_read_scale.attr.attr, &imc_read_unit.attr.attr,
	&imc_write.attr.attr, &imc_write_scale.attr.attr, &imc_write_unit.attr.attr, NULL
};
static const struct attribute_group imc_event_group = { .name = "events", .attrs = imc_events };

PMU_EVENT_ATTR_STRING(energy-pkg, power_pkg, "event=0x2");
PMU_EVENT_ATTR_STRING(energy-pkg.scale, power_pkg_scale, "2.3283064365386962890625e-10");
PMU_EVENT_ATTR_STRING(energy-pkg.unit, power_pkg_unit, "Joules");
static struct attribute *power_events[] = {
	&power_pkg.attr.attr, &power_pkg_scale.attr.attr, &power_pkg_unit.attr.attr, NULL
};
static const struct attribute_group power_event_group = { .name = "events", .attrs = power_events };

static const struct attribute_group *imc_groups[] = { &uncore_plain_group, &uncore_format_group, &imc_event_group, NULL };
static const struct attribute_group *power_groups[] = {
	&uncore_plain_group, &uncore_format_group, &power_event_group, NULL
};

static int uncore_register(void)
{
	int i, err;

	/* 1 and 2 MiB are read in a ms, half of it written; 25 W. */
	uncore_pmus[0] = (struct uncore_pmu){ .name = "uncore_imc_0", .groups = imc_groups };
	uncore_pmus[1] = (struct uncore_pmu){ .name = "uncore_imc_1", .groups = imc_groups };
	uncore_pmus[2] = (struct uncore_pmu){ .name = "power", .groups = power_groups };
	uncore_pmus[0].rates[4] = 16384;
	uncore_pmus[0].rates[5] = 8192;
	uncore_pmus[1].rates[4] = 32768;
	uncore_pmus[1].rates[5] = 16384;
	uncore_pmus[2].rates[2] = 107374182;
	for (i = 0; i < ARRAY_SIZE(uncore_pmus); i++) {
		uncore_pmus[i].pmu = (struct pmu){
			.module = THIS_MODULE,
			.attr_groups = uncore_pmus[i].groups,
			.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
			.task_ctx_nr = perf_invalid_context,
			.event_init = uncore_init_event,
			.add = uncore_add,
			.del = uncore_del,
			.start = uncore_start,
			.stop = uncore_stop,
			.read = uncore_read,
		};
		err = perf_pmu_register(&uncore_pmus[i].pmu, uncore_pmus[i].name, -1);
		if (err)
			return err;
		uncore_pmus[i].registered = true;
	}
	return 0;
}

static void uncore_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(uncore_pmus); i++) {
		if (uncore_pmus[i].registered)
			perf_pmu_unregister(&uncore_pmus[i].pmu);
		uncore_pmus[i].registered = false;
	}
}

#endif
