// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* serve.c - takes a call from the listener, has it made by the module, and answers it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"
#include "cli/cli.h"

/*
 * Asks or tells the listener something about a call. If we are stopped, as by a terminal's
 * user, while it is busy with another one, nothing was done.
 */
static int ask_listener(int listener, unsigned long request, void *arg)
{
	int r;

	do
		r = ioctl(listener, request, arg);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static bool is_waiting(const struct run_call *c)
{
	uint64_t id = c->notif->id;

	return ask_listener(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int run_call_device(const struct run_call *c, unsigned long request, void *arg)
{
	int r;

	if (!is_waiting(c))
		return RUN_GONE;
	r = ioctl(c->device, request, arg);
	return r < 0 ? -errno : r;
}

int run_call_store(const struct run_call *c, uint64_t to, const void *from, size_t len)
{
	return is_waiting(c) ? run_target_write(&c->target, to, from, len) : RUN_GONE;
}

/* ---- attach ---- */

/*
 * Gives the program a copy of the descriptor; its number there. SECCOMP_ADDFD_FLAG_SEND
 * would answer the call with it in the same step, but if we are stopped in the middle of
 * that step, the kernel answers 0 and gives none.
 */
static int hand_over(const struct run_call *c, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = c->notif->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};

	/* Its table may be full: then the call fails as it would. */
	return ask_listener(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
}

static int serve_attach(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	uint64_t capacity = 0;
	struct kmes_ioc_attach_for call = {
		.call.cpu = (uint32_t)args[0],
		.call.capacity_ptr = (uintptr_t)&capacity,
		.pidfd = c->target.pidfd,
	};
	int fd = run_call_device(c, KMES_IOC_ATTACH_FOR, &call);
	int r;

	if (fd < 0)
		return fd;
	r = run_call_store(c, args[1], &capacity, sizeof(capacity));
	if (call.call.cpu == KMES_ATTACH_QUERY_SLOTS)
		return r;
	if (r == 0)
		r = hand_over(c, fd);
	close(fd);
	return r;
}

/* ---- all ---- */

static int serve(const struct run_call *c)
{
	int number = c->notif->data.nr;

	if (!run_target_has(&c->target,
			    number == KMES_NR_ATTACH ? CAP_AUDIT_READ : CAP_AUDIT_WRITE))
		return -EPERM;
	switch (number) {
	case KMES_NR_ATTACH:
		return serve_attach(c);
	case KMES_NR_EMIT:
		run_target_join(&c->target);
		return run_call_emit(c);
	case KMES_NR_EMIT_BATCH:
		run_target_join(&c->target);
		return run_call_batch(c);
	}
	return -ENOSYS;
}

/* Names the process, so that what was read of it counts only if it is still waiting. */
static int serve_known(struct run_call *c)
{
	int r = run_target_open(&c->target, (pid_t)c->notif->pid);

	if (r < 0)
		return r;
	r = serve(c);
	run_target_close(&c->target);
	return r;
}

/* The kernel refuses a second listener; the program alone would not know why. */
static void explain_second_listener(pid_t tid)
{
	char name[32];

	if (!run_can_complain())
		return;
	run_target_name(tid, name, sizeof(name));
	cli_error(
		"process %d (%s) wants a seccomp listener of its own and cannot have one: "
		"kmes-run's is the one that a process may have",
		(int)tid, name);
}

void run_serve(int listener, int device)
{
	struct seccomp_notif notif = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	struct run_call c = { .listener = listener, .device = device, .notif = &notif };
	int r;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0)
		return; /* it was killed before it could be taken up */
	resp.id = notif.id;
	if (notif.data.nr == SYS_seccomp) {
		explain_second_listener((pid_t)notif.pid);
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else {
		r = serve_known(&c);
		resp.error = r < 0 ? r : 0;
		resp.val = r < 0 ? 0 : r;
	}
	ask_listener(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}
