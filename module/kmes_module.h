/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_module.h - what the files of kmes.ko share.
 *
 * A slot stands for a CPU and lives as long as the module; it points to the CPU's buffer
 * of today. A buffer is one ring: its pages, its writer, its name in the wake file. A
 * resize gives each slot a new buffer; the old one lives on while a descriptor holds it.
 *
 * Who may touch a buffer's writer: its own CPU with interrupts off, through the slot, and
 * nobody else as long as that CPU is online. For an offline CPU it is the replacer, which
 * holds the CPU hotplug lock. Everybody else reads single counters, or the pages. Once a
 * buffer is replaced no CPU finds it any more: after the replacer it is kmes_heal.c alone
 * that writes its producer page, in a work item that never runs twice at a time.
 */
#ifndef KMES_MODULE_H
#define KMES_MODULE_H

#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "kmes_abi.h"
#include "kmes_emit.h"
#include "kmes_kernel.h"
#include "kmes_move.h"
#include "kmes_pack.h"
#include "kmes_ring.h"

#if PAGE_SIZE != KMES_PAGE_SIZE
#error "KMES rings consist of pages of 4096 bytes; this kernel's are of another size"
#endif
#ifndef CONFIG_64BIT
#error "KMES rings need a 64-bit kernel"
#endif

/* kmes_buffer.c: the memory of one ring. */

struct kmes_buffer {
	struct kmes_ring_writer w;
	struct kref ref;
	struct page **pages; /* of the data, all of them twice in a row */
	unsigned long page_count;
	struct page *producer_page;
	struct page *consumer_page;
	bool closed; /* to processes: its replacement is waited for */
	u32 wake_id; /* the producer page's index in the wake file */
	unsigned long wake_queued;
	struct llist_node wake_node;
	spinlock_t lock; /* guards what follows, and the clearing of need_wake */
	unsigned int mappings;
	bool replaced;
	unsigned int heal_seconds;
	struct delayed_work heal;
	struct rcu_head rcu;
};

struct kmes_buffer *kmes_buffer_new(unsigned int cpu, u64 capacity, u64 generation);
void kmes_buffer_put(struct kmes_buffer *b);
struct page *kmes_buffer_page(const struct kmes_buffer *b, unsigned long index);
int kmes_buffer_check_memory(u64 capacity, unsigned int count);

static inline void kmes_buffer_get(struct kmes_buffer *b)
{
	kref_get(&b->ref);
}

/* kmes_slot.c: the slots and the replacement of their buffers. */

struct kmes_slot {
	struct kmes_buffer __rcu *buffer;
	struct kobject *kobj; /* its directory in sysfs */
	unsigned int cpu;
};

/* nr_cpu_ids of them; NULL where a CPU is not possible. */
extern struct kmes_slot **kmes_slots;
/* The longest time that a replacement had interrupts off on a CPU, since the load. */
extern u64 kmes_slots_swap_ns;

int kmes_slots_init(u64 capacity);
void kmes_slots_fini(void);
int kmes_slots_replace(u64 capacity);
int kmes_slots_wait(void);
struct kmes_buffer *kmes_slot_get_buffer(unsigned int cpu);

/* The buffer of this CPU; interrupts are off. */
static inline struct kmes_buffer *kmes_this_buffer(void)
{
	return rcu_dereference_protected(kmes_slots[smp_processor_id()]->buffer,
					 irqs_disabled());
}

/* kmes_heal.c: consumers that missed a replacement. */

int kmes_heal_init(void);
void kmes_heal_fini(void);
void kmes_heal_init_buffer(struct kmes_buffer *b);
void kmes_heal_replaced(struct kmes_buffer *b);
void kmes_heal_mapped(struct kmes_buffer *b);
void kmes_heal_unmapped(struct kmes_buffer *b);

/* kmes_wake_file.c: the producer pages, and the mapping through which they are woken. */

int kmes_wake_file_init(void);
void kmes_wake_file_fini(void);
struct page *kmes_wake_page_new(int node, u32 *id);
void kmes_wake_page_free(struct page *page, u32 id);
int kmes_wake_file_map(void);
void kmes_wake_file_unmap(void);
void kmes_wake_page_wake(u32 id);

/* kmes_wake.c: wakes the consumers that sleep on a ring. */

int kmes_wake_init(void);
void kmes_wake_fini(void);
/* Requests a wake of all sleepers on this buffer. Interrupts are off. */
void kmes_wake(struct kmes_buffer *b);
/* The same for a system call, which holds no scheduler locks. */
void kmes_wake_from_call(struct kmes_buffer *b);

/* kmes_symbol.c: functions of the kernel that it does not export; calls are direct. */

struct mm_struct *kmes_mm_alloc(void);
int kmes_futex_wake_all(unsigned long address);
struct pid *kmes_pidfd_get_pid(unsigned int fd);
int kmes_symbols_find(void);

/*
 * kmes_subject.c: on whose account a call is made.
 *
 * A subject is determined once, at the start of a call, and every question of that call
 * is answered from it, whatever the process does meanwhile:
 *
 *  - credentials. Of another process they are taken before anything is decided, and kept:
 *    whether the caller may act for it, its capabilities and its exemption from the rate
 *    are asked of this one reference. The caller's own cannot change during its call.
 *  - whether the other process is dumpable: after its credentials, once.
 *  - id and start: of the very task that the credentials were taken from. Execution of
 *    another program changes neither.
 *
 * Of what else may change during a call, its arguments are copied from user space before
 * anything is decided (kmes_main.c), limits are read once (struct kmes_stage has
 * them), a bucket and its rate are looked at under one lock (kmes_rate.c), and the
 * capacity that counts is that of the ring which is written with interrupts off.
 */

struct kmes_subject {
	const struct cred *cred; /* another process's; NULL: the caller itself */
	pid_t tgid;		 /* in the initial namespace */
	u64 start;		 /* of the leader, boot time */
};

void kmes_subjects_init(void);
int kmes_subject_of(struct kmes_subject *s, int pidfd);
void kmes_subject_put(struct kmes_subject *s);
bool kmes_subject_has(const struct kmes_subject *s, int capability);
bool kmes_subject_has_quietly(const struct kmes_subject *s, int capability);
void kmes_subject_guid_irqs_off(const struct kmes_subject *s, u8 guid[16]);
void kmes_subject_guid(const struct kmes_subject *s, u8 guid[16]);
void kmes_subject_of_task(struct kmes_subject *s, struct task_struct *task);

/*
 * The caller's process. Its leader stays until the caller has been released, and for
 * another grace period, which interrupts off hold up.
 */
static inline void kmes_subject_self(struct kmes_subject *s)
{
	s->cred = NULL;
	s->tgid = task_tgid_nr(current);
	s->start = READ_ONCE(current->group_leader)->start_boottime;
}

/* kmes_write.c: the write phase, which every emission ends in. */

/*
 * All of a stamp but the time; nobody is known to emit where `s` is NULL. Interrupts are
 * off. (Field by field: gcc clears a whole stamp with a string instruction.)
 */
static inline void kmes_stamp_init(struct kmes_stamp *stamp, u8 origin_class,
				   const struct kmes_subject *s)
{
	stamp->origin_class = origin_class;
	memset(stamp->effective_token_guid, 0, sizeof(stamp->effective_token_guid));
	memset(stamp->true_token_guid, 0, sizeof(stamp->true_token_guid));
	if (s)
		kmes_subject_guid_irqs_off(s, stamp->process_guid);
	else
		memset(stamp->process_guid, 0, sizeof(stamp->process_guid));
}

int kmes_write(struct kmes_buffer *b, const struct kmes_record *records, u32 count,
	       const struct kmes_stamp *stamp, bool from_call);

/* kmes_rate.c: a token bucket a process. */

int kmes_rate_take(const struct kmes_subject *s, u32 count);
void kmes_rate_give_back(const struct kmes_subject *s, u32 count);
void kmes_rate_set(u32 rate);
void kmes_rate_fini(void);

/* kmes_attach.c, kmes_emit.c: the calls behind the ioctls. */

long kmes_attach(const struct kmes_subject *s, const struct kmes_ioc_attach *call);
long kmes_emit(const struct kmes_subject *s, const struct kmes_ioc_emit *call);
long kmes_emit_batch(const struct kmes_subject *s, const struct kmes_ioc_batch *call);

/* kmes_share.c: how much memory the emitters may have staged at a time. */

/* A shortage is the emitter's error and never wakes the OOM killer. */
#define KMES_STAGE_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

int kmes_share_take(size_t bytes, size_t process_max);
void kmes_share_give_back(size_t bytes);

/* kmes_stage.c: the kernel's own copies of types and payloads. */

/* What is no longer than this costs no allocation. */
#define KMES_STAGE_SMALL 512

struct kmes_stage {
	struct kmes_emit_limits limits;
	u64 capacity; /* of the ring that the records are meant for */
	u32 count;    /* records that are complete */
	bool wrapped; /* the bytes of the oldest records are no longer there */
	u8 *bytes;
	size_t size, used;
	size_t share; /* what it has of the process's account */
	struct page **pages;
	unsigned long page_count;
	u8 small[KMES_STAGE_SMALL];
};

int kmes_stage(struct kmes_stage *st, const struct kmes_batch_entry *entries,
	       struct kmes_record *records, u32 count);
void kmes_stage_free(struct kmes_stage *st);

static inline void kmes_stage_fini(struct kmes_stage *st)
{
	if (unlikely(st->bytes != st->small))
		kmes_stage_free(st);
}

/* kmes_kernel.c: besides what kmes_kernel.h has. */

void kmes_emit_pack(u8 origin_class, const char *type, const struct kmes_pack *p);

/* kmes_config.c: the values that can be set. */

enum kmes_setting_id {
	KMES_SET_CAPACITY,
	KMES_SET_EVENT_SIZE,
	KMES_SET_DEPTH,
	KMES_SET_RATE,
	KMES_SET_PROCESS,
	KMES_SETTINGS,
};

extern u64 kmes_config_values[KMES_SETTINGS];

static inline u64 kmes_config_get(enum kmes_setting_id id)
{
	return READ_ONCE(kmes_config_values[id]);
}

void kmes_config_init(void);
void kmes_config_report(void);
int kmes_config_set(enum kmes_setting_id id, const char *text, size_t len);

/* kmes_sysfs.c */

int kmes_sysfs_init(void);
void kmes_sysfs_fini(void);

/* kmes_process.c: events about processes. */

int kmes_process_set(bool on);

#endif
