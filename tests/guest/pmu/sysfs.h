/* SPDX-License-Identifier: GPL-2.0 */
/* The sysfs side of a PMU: format/, events/, caps/, cpus and rdpmc, built from the texts of its kind. */
#ifndef KNOWN_PMU_SYSFS_H
#define KNOWN_PMU_SYSFS_H

#define TEXTS_MAX 24

struct text_attribute {
	struct device_attribute attr;
	const char *value;
};

/* One set for each PMU the module can register. */
struct attribute_set {
	struct text_attribute texts[3 * TEXTS_MAX];
	struct attribute *lists[3][TEXTS_MAX + 2];
	struct attribute_group groups[4];
	const struct attribute_group *pointers[5];
	struct attribute *plain[3];
	int used;
};

static struct attribute_set attribute_sets[2];
static int attribute_sets_used;

static ssize_t text_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", container_of(attr, struct text_attribute, attr)->value);
}

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return cpumap_print_to_pagebuf(true, buf, &to_known(pmu)->cpus);
}

static ssize_t __maybe_unused rdpmc_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", rdpmc);
}

static ssize_t slots_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%08x\n", slots_per_cycle);
}

static ssize_t max_precise_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", max_precise_of(to_known(pmu)->kind));
}

static DEVICE_ATTR_RO(cpus);
static DEVICE_ATTR_RO(slots);
static DEVICE_ATTR_RO(max_precise);
#ifdef CONFIG_X86
static DEVICE_ATTR_RO(rdpmc);
#endif

static void add_texts(struct attribute_set *set, int list, const char *directory, const struct text *texts)
{
	int n = 0;

	for (; texts && texts->name && n < TEXTS_MAX; texts++) {
		struct text_attribute *text;

		/* Without PERF_METRICS the kernel hides what needs it. */
		if (!metrics && (!strcmp(texts->name, "slots") || strstr(texts->value, "event=0x00,umask=0x8")))
			continue;
		text = &set->texts[set->used++];
		text->value = texts->value;
		text->attr.attr.name = texts->name;
		text->attr.attr.mode = 0444;
		text->attr.show = text_show;
		sysfs_attr_init(&text->attr.attr);
		set->lists[list][n++] = &text->attr.attr;
	}
	set->groups[list].name = directory;
	set->groups[list].attrs = set->lists[list];
}

static const struct attribute_group **attribute_groups(const struct pmu_kind *k)
{
	struct attribute_set *set = &attribute_sets[attribute_sets_used++];
	int i, n = 0;

	add_texts(set, 0, "format", k->formats);
	add_texts(set, 1, "events", k->events);
	add_texts(set, 2, "caps", k->caps);
	for (i = 0; set->lists[2][i]; i++)
		;
	/* Arm's driver takes no samples for which it could be precise, and does not say so. */
	set->lists[2][i] = k->shows_slots ? &dev_attr_slots.attr : &dev_attr_max_precise.attr;
	if (k->shows_cpus)
		set->plain[n++] = &dev_attr_cpus.attr;
#ifdef CONFIG_X86
	set->plain[n++] = &dev_attr_rdpmc.attr;
#endif
	set->groups[3].attrs = set->plain;
	for (i = 0; i < 4; i++)
		set->pointers[i] = &set->groups[i];
	return set->pointers;
}

#endif
