/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters read from user space. The emulator has no RDPMC: with CR4.PCE set it raises an invalid-opcode fault, which a
 * notifier answers with the counter's value, as the instruction would.
 */
#ifndef KNOWN_PMU_USER_READ_H
#define KNOWN_PMU_USER_READ_H

#define METRICS_INDEX (1 << 29)
#define COUNTER_BITS 48

#ifdef CONFIG_X86
#include <asm/tlbflush.h>
#include <asm/trapnr.h>
#include <linux/kdebug.h>
#include <linux/mm_types.h>

static int known_event_idx(struct perf_event *event)
{
	struct known_pmu *known = to_known(event->pmu);
	struct cpu_state *s = this_cpu_ptr(known->state);
	int i;

	if (!(event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT))
		return 0;
	if (is_metric(known->kind, event->hw.config))
		return METRICS_INDEX + 1;
	for (i = 0; i < ARRAY_SIZE(s->active); i++)
		if (s->active[i] == event)
			return i + 1;
	return 0;
}

/* The packed fractions that RDPMC of PERF_METRICS returns. */
static u64 packed_metrics(const struct known_pmu *known)
{
	int i, slots = find_entry(&known->rates, SLOTS_CONFIG, 0);
	u64 packed = 0, slots_rate = slots < 0 ? 0 : known->rates.entries[slots].value;

	for (i = 0; slots_rate && i < known->kind->metric_events; i++) {
		int found = find_entry(&known->rates, FIRST_METRIC_CONFIG + 0x100 * i, 0);
		u64 rate = found < 0 ? 0 : known->rates.entries[found].value;

		packed |= (div64_u64(rate * 255 + slots_rate / 2, slots_rate) & 0xff) << (8 * i);
	}
	return packed;
}

static bool read_counter(u32 index, u64 *value)
{
	struct known_pmu *known_here = cpumask_test_cpu(smp_processor_id(), &pmus[0].cpus) ? &pmus[0] : &pmus[1];
	struct cpu_state *s;
	struct perf_event *event;

	if (!known_here->registered)
		return false;
	if (index == METRICS_INDEX) {
		*value = packed_metrics(known_here);
		return true;
	}
	s = this_cpu_ptr(known_here->state);
	if (index >= ARRAY_SIZE(s->active))
		return false;
	event = s->active[index];
	/* A counter that has been taken from the reader a moment ago is there all the same: the page says that it moved. */
	if (!event) {
		*value = 0;
		return true;
	}
	*value = count_at(event, pmu_time()) & ((1ull << COUNTER_BITS) - 1);
	return true;
}

static int invalid_opcode(struct notifier_block *self, unsigned long action, void *data)
{
	struct die_args *args = data;
	unsigned char code[2];
	unsigned long flags;
	u64 value;
	bool known_counter;

	if (action != DIE_TRAP || args->trapnr != X86_TRAP_UD || !user_mode(args->regs))
		return NOTIFY_DONE;
	if (copy_from_user_nofault(code, (void __user *)args->regs->ip, 2) || code[0] != 0x0f || code[1] != 0x33)
		return NOTIFY_DONE;
	local_irq_save(flags);
	known_counter = read_counter((u32)args->regs->cx, &value);
	local_irq_restore(flags);
	if (!known_counter)
		return NOTIFY_DONE;
	args->regs->ax = (u32)value;
	args->regs->dx = (u32)(value >> 32);
	args->regs->ip += 2;
	return NOTIFY_STOP;
}

static struct notifier_block invalid_opcode_block = { .notifier_call = invalid_opcode };

/* The kernel writes the (absent) hardware's counter width into the user page; correct it on the way out. */
static int userpage_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	*(struct perf_event_mmap_page **)instance->data = (void *)regs->si;
	return 0;
}

static int userpage_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	(*(struct perf_event_mmap_page **)instance->data)->pmc_width = COUNTER_BITS;
	return 0;
}

static struct kretprobe userpage_probe = {
	.kp.symbol_name = "arch_perf_update_userpage",
	.entry_handler = userpage_entry,
	.handler = userpage_return,
	.data_size = sizeof(struct perf_event_mmap_page *),
	.maxactive = 64,
};

static void allow_here(void *mm)
{
	if (current->mm == mm)
		cr4_update_irqsoff(X86_CR4_PCE, 0);
}

static void known_event_mapped(struct perf_event *event, struct mm_struct *mm)
{
	if (!(event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT))
		return;
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu(allow_here, mm, 1);
}

static void known_event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	if (event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT)
		atomic_dec(&mm->context.perf_rdpmc_allowed);
}

static int user_read_start(void)
{
	int err;

	if (!rdpmc)
		return 0;
	err = register_kretprobe(&userpage_probe);
	if (!err)
		err = register_die_notifier(&invalid_opcode_block);
	return err;
}

static void user_read_stop(void)
{
	if (!rdpmc)
		return;
	unregister_die_notifier(&invalid_opcode_block);
	unregister_kretprobe(&userpage_probe);
}

#else	/* no user-space reads of this module's counters on Arm */

static int known_event_idx(struct perf_event *event)
{
	return 0;
}

static void known_event_mapped(struct perf_event *event, struct mm_struct *mm)
{
}

static void known_event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
}

static int user_read_start(void)
{
	return 0;
}

static void user_read_stop(void)
{
}

#endif
#endif
