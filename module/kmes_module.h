/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_module.h - what the source files of kmes.ko share.
 *
 * A slot represents a CPU and exists as long as the module; it points to the CPU's
 * current buffer. A buffer is one ring: its pages, its writer, its index in the wake
 * file. A resize gives each slot a new buffer; the old one exists until its last
 * reference is dropped.
 *
 * Access to a buffer's writer: only by its own CPU, through the slot, with interrupts
 * off; if that CPU is offline, only by the replacer, which holds the CPU hotplug lock.
 * All other code reads only individual counters or the pages. A replaced buffer is no
 * longer reachable through its slot: after the replacer, only kmes_heal.c writes its
 * producer page, from a work item that never runs concurrently with itself.
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
#error "KMES rings need a kernel with pages of 4096 bytes"
#endif
#ifndef CONFIG_64BIT
#error "KMES rings need a 64-bit kernel"
#endif

/* kmes_buffer.c: the memory of a ring. */

struct kmes_buffer {
	struct kmes_ring_writer w;
	struct kref ref;
	struct page **pages; /* page_count pages of data, and the same ones again */
	unsigned long page_count;
	struct page *producer_page;
	struct page *consumer_page;
	bool closed; /* processes wait for its replacement before they emit */
	u32 wake_id; /* the producer page's index in the wake file */
	unsigned long wake_queued;
	struct llist_node wake_node;
	spinlock_t lock; /* protects the fields below and the clearing of need_wake */
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
void *kmes_kvmalloc(size_t size, gfp_t gfp);
void *kmes_vmap(struct page **pages, unsigned long count);

static inline void kmes_buffer_get(struct kmes_buffer *b)
{
	kref_get(&b->ref);
}

/* kmes_slot.c: the slots and the replacement of their buffers. */

struct kmes_slot {
	struct kmes_buffer __rcu *buffer;
	struct kobject *kobj; /* sysfs directory */
	unsigned int cpu;
};

/* nr_cpu_ids entries; NULL for CPUs that are not possible. */
extern struct kmes_slot **kmes_slots;
/* The longest time since loading that a replacement kept interrupts off on a CPU. */
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

/* kmes_heal.c: wakes consumers that missed a replacement. */

int kmes_heal_init(void);
void kmes_heal_fini(void);
void kmes_heal_init_buffer(struct kmes_buffer *b);
void kmes_heal_replaced(struct kmes_buffer *b);
void kmes_heal_mapped(struct kmes_buffer *b);
void kmes_heal_unmapped(struct kmes_buffer *b);

/* kmes_wake_file.c: the producer pages, and the mapping used to wake sleepers on them. */

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

/* kmes_symbol.c: direct calls to kernel functions that are not exported. */

struct mm_struct *kmes_mm_alloc(void);
int kmes_futex_wake_all(unsigned long address);
struct pid *kmes_pidfd_get_pid(unsigned int fd);
int kmes_symbols_find(void);

/*
 * kmes_subject.c: identity and credentials of the process that a call is made for.
 *
 * A subject is determined once, at the start of a call, and every check of that call uses
 * it, whatever the process does in the meantime:
 *
 *  - Credentials: those of another process are taken before any check, with a reference.
 *    Whether the caller may act for it, its capabilities and its exemption from the rate
 *    limit are all decided by them. The caller's own cannot change during its call.
 *  - Whether the other process is dumpable: checked once, after taking its credentials.
 *  - Id and start time: of the task that the credentials were taken from. execve(2)
 *    changes neither.
 *
 * As for other things that may change during a call: its arguments are copied from user
 * space before any check (kmes_main.c), limits are read once (into struct kmes_stage), a
 * bucket and its rate are accessed under one lock (kmes_rate.c), and the capacity that
 * matters is that of the ring written to with interrupts off.
 */

struct kmes_subject {
	const struct cred *cred; /* another process's; NULL: the caller itself */
	pid_t tgid;		 /* in the initial namespace */
	u64 start;		 /* the leader's start_boottime */
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
 * The caller's process. Its leader is freed a grace period after the caller has been
 * released; no grace period ends while interrupts are off.
 */
static inline void kmes_subject_self(struct kmes_subject *s)
{
	s->cred = NULL;
	s->tgid = task_tgid_nr(current);
	s->start = READ_ONCE(current->group_leader)->start_boottime;
}

/* kmes_write.c: the write phase of every emission. */

/*
 * Fills in a stamp except for its time; `s` is NULL where no process is known to emit.
 * Interrupts are off. (Field by field: gcc clears a whole stamp with a string
 * instruction.)
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

/* kmes_rate.c: a token bucket per process. */

int kmes_rate_take(const struct kmes_subject *s, u32 count);
void kmes_rate_give_back(const struct kmes_subject *s, u32 count);
void kmes_rate_set(u32 rate);
void kmes_rate_fini(void);

/* kmes_attach.c, kmes_emit.c: the ioctls. */

long kmes_attach(const struct kmes_subject *s, const struct kmes_ioc_attach *call);
long kmes_emit(const struct kmes_subject *s, const struct kmes_ioc_emit *call);
long kmes_emit_batch(const struct kmes_subject *s, const struct kmes_ioc_batch *call);

/* kmes_share.c: limits how much memory emitters have staged at a time. */

/* A failed allocation is the emitter's error and never invokes the OOM killer. */
#define KMES_STAGE_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

int kmes_share_take(size_t bytes, size_t process_max);
void kmes_share_give_back(size_t bytes);

/* kmes_stage.c: copies types and payloads from user space. */

/* Types and payloads that fit in this many bytes need no allocation. */
#define KMES_STAGE_SMALL 512

struct kmes_stage {
	struct kmes_emit_limits limits;
	u64 capacity; /* of the ring that the records are meant for */
	u32 count;    /* complete records */
	bool wrapped; /* the oldest records have been overwritten */
	u8 *bytes;
	size_t size, used;
	size_t share; /* charged to the process's account */
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

/* kmes_kernel.c: see also kmes_kernel.h. */

void kmes_emit_pack(u8 origin_class, const char *type, const struct kmes_pack *p);

/* kmes_config.c: the configuration. */

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

/* kmes_process_events.c: events about processes. */

int kmes_process_set(bool on);

#endif
