/* SPDX-License-Identifier: GPL-2.0 */
/* Reading "CONFIG[/CONFIG1]:VALUE,..." parameters and looking values up. Included by known_pmu.c. */
#ifndef KNOWN_PMU_TABLES_H
#define KNOWN_PMU_TABLES_H

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

#endif
